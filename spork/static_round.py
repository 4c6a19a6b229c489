"""StaticRound: a whole greedy round in fixed shapes, with nothing for the host to decide until it is over.

Draft with the fork head, mask, run the model, walk down the accepted path, compact the cache: all
on the device, in shapes that depend on `Shape` alone. So a CUDA graph can hold the round (see
graphs.py), and host and device meet once a round. Run without a graph it computes the same, which
is how it is tested where there is no GPU. What it gives is what the loop in decoding.py gives with
`fork-head` and `exact` at tau 1, temperature 0, or with no proposer at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from .beams import Candidates, GivenPath, draft
from .config import KNOBS
from .draft_head import DraftHead
from .runner import ModelRunner
from .tree import ROOT, ForkTree
from .verifiers.base import Verdict


@dataclass(frozen=True)
class Shape:
    """`nodes` drafted tokens are verified, of `levels` levels and `forks` forks; attention reads `tier` slots.

    No nodes: one token a pass, plain greedy.
    """

    levels: int
    forks: int
    nodes: int
    tier: int


class RoundState:
    """What one round hands to the next, on the device: `root` [1] (last committed token), `length` [1]
    (committed keys and values, and so the root's position), `before` [1, width] (final state of the
    token before the root). `given` is what the host adds: a path the text itself suggests."""

    def __init__(self, runner: ModelRunner):
        weight = runner.model.get_output_embeddings().weight
        self.root = torch.zeros(1, dtype=torch.long, device=runner.device)
        self.length = torch.zeros(1, dtype=torch.long, device=runner.device)
        self.before = torch.zeros(1, weight.shape[-1], dtype=runner.model.dtype, device=runner.device)
        self._given = torch.zeros(2, int(KNOBS["m"].high) + 1, dtype=torch.float64, device=runner.device)
        self.give(None)

    @torch.inference_mode()
    def set(self, root: int, length: int, before: torch.Tensor | None) -> None:
        self.root.fill_(root)
        self.length.fill_(length)
        if before is not None:
            self.before.copy_(before[None])

    @torch.inference_mode()
    def give(self, path: GivenPath | None) -> None:
        """The next round's drafts may go along `path`; None where there is none."""
        self._given[1].fill_(-math.inf)
        if path is not None:
            self._given[:, : len(path.tokens)] = torch.stack([path.tokens.double(), path.log_p.double()]).to(self._given.device)

    def given(self, levels: int) -> GivenPath:
        """That path, of a fixed length."""
        return GivenPath(self._given[0, :levels].long(), self._given[1, :levels].float())


@dataclass
class Outcome:
    """One round on the host: the tree as verified, the verdict, and the accepted path's length and end."""

    tree: ForkTree
    verdict: Verdict
    accepted: int


class StaticRound:
    """The program of one shape. `ends` [e] are the token ids that end a text."""

    def __init__(self, runner: ModelRunner, head: DraftHead | None, state: RoundState, shape: Shape, ends: torch.Tensor):
        if shape.nodes and head is None:
            raise AssertionError("drafting needs a head")
        self._runner, self._head, self._state, self.shape, self._ends = runner, head, state, shape, ends
        #: The round's result, filled by `run`.
        self.result: torch.Tensor | None = None

    @torch.inference_mode()
    def run(self) -> None:
        """One round: reads and updates the state, commits on the device, leaves `result` there."""
        state, nodes = self._state, self.shape.nodes
        tokens, parents, reach = self._draft() if nodes else self._nothing()
        device = tokens.device
        rows = nodes + 1
        depth, sees = _ancestry(parents, self.shape.levels)
        positions, slots = state.length + depth, state.length + torch.arange(rows, device=device)
        slot_positions = torch.arange(self.shape.tier, device=device).index_copy(0, slots, positions)
        seen = (torch.arange(self.shape.tier, device=device) < state.length)[None, :].expand(rows, -1)
        seen = seen.index_copy(1, slots, sees)
        output = self._runner.forward_fixed(tokens, positions, slots, seen, slot_positions)
        own = output.logits.argmax(dim=-1)
        ratio = (output.logits[parents, tokens] - output.logits[parents, own[parents]]).exp()
        end, count, path = _walk(tokens, parents, reach, own, self.shape.levels)
        if nodes:  # what is beyond the accepted path is copied onto itself
            steps = torch.arange(1, self.shape.levels + 1, device=device)
            target = state.length + steps
            source = torch.where(steps <= count, state.length + path, target)
            self._runner.cache.copy_slots(source, target)
        state.root.copy_(own[end])
        state.before.copy_(output.final[end])
        state.length.add_(count + 1)
        self.result = torch.cat([count.double(), tokens.double(), parents.double(), reach.double(), ratio.double(), own.double()])

    def read(self) -> Outcome:
        """The round on the host: the one point where host and device meet."""
        count, *rest = self.result.tolist()
        rows = self.shape.nodes + 1
        tokens, parents, reach, ratio, own = (rest[i * rows : (i + 1) * rows] for i in range(5))
        tree = ForkTree.rooted(int(tokens[ROOT]))
        node_of, row_of = {0: ROOT}, [0]
        # Rows are in order of reach, so a parent's row stands before its child's.
        for row in range(1, rows):
            if reach[row] > -math.inf:
                up = node_of[int(parents[row])]
                p = min(1.0, math.exp(reach[row] - reach[int(parents[row])]))
                node_of[row] = tree.add(up, int(tokens[row]), p)
                row_of.append(row)
        scores: list[float | None] = [None, *(ratio[row] for row in row_of[1:])]
        verdict = Verdict(
            node_scores=scores, fork_scores=[scores[fork] for fork in tree.children(ROOT)],
            own_tokens={node: int(own[row]) for node, row in enumerate(row_of)}, by_token=True,
        )
        return Outcome(tree, verdict, int(count))

    def _nothing(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return self._state.root, torch.zeros_like(self._state.root), torch.zeros(1, device=self._state.root.device)

    def _draft(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Tokens, parent rows and log reach of the root's row and the drafted ones [nodes + 1], best first."""
        head, shape, vocabulary, state = self._head, self.shape, self._head.vocabulary, self._state
        start = head.step(head.start(state.before), state.root)

        def read(states: torch.Tensor, level: int) -> torch.Tensor:
            return vocabulary.logits(head.read(states)).log_softmax(dim=-1)

        found = draft(
            start, read(start, 0)[0], vocabulary.ids, levels=shape.levels, forks=shape.forks, step=head.step, read=read,
            ids=vocabulary.ids, ends=self._ends, given=state.given(shape.levels),
        )
        return _best(found, shape.nodes, self._state.root)


def _best(found: Candidates, nodes: int, root: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows of the `nodes` likeliest candidates behind the root's."""
    count = len(found.reach)
    device = root.device
    # A child is at most as likely as its parent; where rounding makes them equal, the parent is first.
    order = torch.sort(found.reach, descending=True, stable=True).indices[:nodes]
    row_of = torch.zeros(count + 1, dtype=torch.long, device=device)
    row_of.index_copy_(0, order + 1, torch.arange(1, nodes + 1, device=device))
    reach = found.reach[order]
    parents = row_of[found.parents[order] + 1]
    zero = torch.zeros(1, device=device)
    return (
        torch.cat([root, found.tokens[order]]),
        torch.cat([torch.zeros_like(root), parents]),
        torch.cat([zero.to(reach.dtype), reach]),
    )


def _ancestry(parents: torch.Tensor, levels: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Depth of each row [n], and which rows each may see [n, n]: itself, its ancestors, the root."""
    rows = torch.arange(len(parents), device=parents.device)
    sees = rows[:, None] == rows[None, :]
    depth, above = torch.zeros_like(parents), rows
    for _ in range(levels):
        depth = depth + (above != 0)
        above = parents[above]
        sees = sees | (rows[None, :] == above[:, None])
    return depth, sees


def _walk(
    tokens: torch.Tensor, parents: torch.Tensor, reach: torch.Tensor, own: torch.Tensor, levels: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """From the root down while a child carries the model's own token: last row [1], steps [1], rows by depth [levels].

    A row that must not be (its `reach` [n] is -inf) is no child.
    """
    rows = torch.arange(len(tokens), device=tokens.device)
    at, count, path = torch.zeros_like(rows[:1]), torch.zeros_like(rows[:1]), []
    going = torch.ones(1, dtype=torch.bool, device=tokens.device)
    for _ in range(levels):
        fits = (parents == at) & (tokens == own[at]) & (rows > 0) & (reach > -math.inf)
        going = going & fits.any()
        at = torch.where(going, fits.to(torch.int8).argmax().to(rows.dtype)[None], at)
        count = count + going
        path.append(at)
    return at, count, torch.cat(path) if path else rows[:0]
