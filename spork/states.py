"""NodeStates: what the model has computed for the nodes of one round's tree.

The contract: proposers and verifiers ask for nodes; a pass runs only over nodes that have none
yet, and only through layers that have not run. So a verifier never pays again for what proposing
already ran, whoever proposed. The first pass of a round also carries the committed tokens that
have no keys and values yet (the trunk, whose last token is the root).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

import torch

from .rows import Rows
from .runner import ModelRunner, PassOutput
from .tree import ROOT, ForkTree


@dataclass
class FullPass:
    """A pass through every layer: row i belongs to `tokens[i]` and, past the trunk, `nodes[i]`."""

    tokens: list[int]
    nodes: list[int | None]
    output: PassOutput


@dataclass
class _Row:
    """One row of an early pass: its token, its node (None in the trunk before the root), its slot, its states by depth."""

    token: int
    node: int | None
    slot: int
    states: dict[int, torch.Tensor]


class NodeStates:
    """Rows by node, for one round.

    `taps` are the depths whose states `tapped` will be asked for; `wants_final` keeps final hidden
    states too, and then `before_root` is the final state [width] of the token before the root, as
    far as an earlier pass left it.
    """

    def __init__(
        self, runner: ModelRunner, tree: ForkTree, committed: Sequence[int], taps: Sequence[int] = (),
        wants_final: bool = False, before_root: torch.Tensor | None = None,
    ):
        self.full_passes: list[FullPass] = []
        self._runner, self._tree, self._committed, self._taps = runner, tree, committed, taps
        self._logits = Rows()
        self._tapped: dict[int, dict[int, torch.Tensor]] = {}
        self._wants_final, self.before_root = wants_final, before_root
        self._final = Rows()
        self._slots: dict[int, int] = {}
        self._full_slots: dict[int, int] = {}
        #: Rows that stopped at the deepest tap, in slot order; they are the last ones of the cache.
        self._early: list[_Row] = []
        self._trunk_slots: range = range(0)

    def run(self, nodes: Sequence[int]) -> None:
        """One pass through every layer over those of `nodes` that have none yet, if any.

        Rows that an early pass left are carried on from where they stopped, all of them together. A
        node's parent must be run already or be among `nodes`, before it.
        """
        missing = [n for n in nodes if n not in self._full_slots]
        if not missing:
            return
        if self._early:
            self.run_early(missing)
            self._finish_early_rows()
            return
        tokens, row_nodes, trunk = self._rows(missing)
        self._assign_slots(row_nodes)
        output = self._pass(tokens, row_nodes, trunk)
        self._note_full(tokens, row_nodes, trunk, output)

    def run_early(self, nodes: Sequence[int]) -> None:
        """One pass as deep as the deepest tap only, over nodes no pass has tapped yet.

        Where it stops, `run` can go on. A row that is never carried on serves this round only: its
        later layers hold nothing, so such a node is run again if it is ever committed.
        """
        missing = [n for n in nodes if n not in self._tapped]
        if not missing:
            return
        tokens, row_nodes, trunk = self._rows(missing)
        start = self._runner.cache.cursor
        if not self._early:
            self._early_start = start
        self._assign_slots(row_nodes)
        output = self._pass(tokens, row_nodes, trunk, stop_after_taps=True)
        for row, (token, node) in enumerate(zip(tokens, row_nodes)):
            states = {n: tapped[row] for n, tapped in output.tapped.items()}
            self._early.append(_Row(token, node, start + row, states))
            if node is not None:
                self._tapped[node] = states

    def trim(self, nodes: Sequence[int]) -> None:
        """Drop every node of the tree but the root and `nodes`, none of which a full pass has run."""
        kept = {ROOT: ROOT, **{node: i for i, node in enumerate(sorted(nodes), start=1)}}
        self._tree.keep_only(nodes)
        self._logits.renumber(kept)
        self._final.renumber(kept)
        for held in (self._tapped, self._slots, self._full_slots):
            rows = {kept[n]: value for n, value in held.items() if n in kept}
            held.clear()
            held.update(rows)
        self._early = [r for r in self._early if r.node is None or r.node in kept]
        for row in self._early:
            row.node = None if row.node is None else kept[row.node]

    def logits(self, nodes: Sequence[int]) -> torch.Tensor:
        """Raw next-token logits [n, vocab] float32 of nodes that have been run."""
        return self._logits.get(nodes)

    def tapped(self, nodes: Sequence[int], layers: int) -> torch.Tensor:
        """States after the first `layers` layers [n, width], from whichever pass ran them."""
        return torch.stack([self._tapped[n][layers] for n in nodes])

    def final(self, node: int) -> torch.Tensor | None:
        """The final hidden state [width] of a node, or None where no full pass ran it."""
        return self._final.row(node)

    def keep(self, path: Sequence[int]) -> None:
        """Commit the keys and values of the path as far as they exist in every layer; drop the rest."""
        slots = []
        for node in path:
            if node not in self._full_slots:
                break
            slots.append(self._full_slots[node])
        self._runner.keep(slots)

    def _rows(self, missing: Sequence[int]) -> tuple[list[int], list[int | None], int]:
        """Tokens and nodes of a pass over `missing`, and how many of its first rows are the trunk."""
        root_ran = ROOT in self._full_slots or any(row.node == ROOT for row in self._early)
        trunk = [] if root_ran else list(self._committed[self._runner.length :])
        branch = [n for n in missing if n != ROOT]
        if trunk:
            self._trunk_slots = range(self._runner.length, self._runner.length + len(trunk))
        row_nodes: list[int | None] = [*([None] * (len(trunk) - 1)), ROOT] if trunk else []
        return trunk + [self._tree.tokens[n] for n in branch], row_nodes + branch, len(trunk)

    def _finish_early_rows(self) -> None:
        """Carry the early rows on through the remaining layers."""
        rows, layers = self._early, max(self._taps)
        start = self._early_start
        self._runner.rewind(start, [row.slot for row in rows])
        for i, row in enumerate(rows):
            if row.node is not None:
                self._slots[row.node] = start + i
        tokens, row_nodes = [row.token for row in rows], [row.node for row in rows]
        trunk = row_nodes.index(ROOT) + 1 if ROOT in row_nodes else 0
        output = self._pass(tokens, row_nodes, trunk, resume=(layers, torch.stack([row.states[layers] for row in rows])))
        self._early = []
        self._note_full(tokens, row_nodes, trunk, output)

    def _pass(self, tokens: list[int], row_nodes: list[int | None], trunk: int, **how: object) -> PassOutput:
        """One pass; the rows' slots are assigned. Of an early pass, nothing is committed."""
        early, branch = "stop_after_taps" in how, row_nodes[trunk:]
        return self._runner.forward(
            tokens,
            trunk=trunk,
            ancestors=[self._visible(n) for n in branch],
            positions=[self._position(n) for n in branch],
            taps=() if "resume" in how else self._taps,
            want_final=self._wants_final and not early,
            **how,
        )

    def _note_full(self, tokens: list[int], row_nodes: list[int | None], trunk: int, output: PassOutput) -> None:
        if self._wants_final and trunk > 1:
            self.before_root = output.final[trunk - 2]
        self.full_passes.append(FullPass(tokens, row_nodes, output))
        self._logits.put(row_nodes, output.logits)
        if output.final is not None:
            self._final.put(row_nodes, output.final)
        for row, node in enumerate(row_nodes):
            if node is not None:
                self._full_slots[node] = self._slots[node]
                self._tapped.setdefault(node, {n: states[row] for n, states in output.tapped.items()})

    def _assign_slots(self, row_nodes: Sequence[int | None]) -> None:
        start = self._runner.cache.cursor
        for offset, node in enumerate(row_nodes):
            if node is not None:
                self._slots[node] = start + offset

    def _visible(self, node: int) -> list[int]:
        """Scratch slots of a node's ancestors: the trunk's, as long as it is not committed, and its path's."""
        trunk = [slot for slot in self._trunk_slots if slot >= self._runner.length]
        return trunk + [self._slots[n] for n in self._tree.path(node)[:-1]]

    def _position(self, node: int) -> int:
        return len(self._committed) - 1 + self._tree.depths[node]
