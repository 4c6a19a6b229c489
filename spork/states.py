"""NodeStates: what the model has computed for the nodes of one round's tree.

The contract: proposers and verifiers ask for nodes; a pass runs only over nodes that have none
yet. So a verifier never pays again for what proposing already ran, whoever proposed. The first
full pass of a round also carries the committed tokens that have no keys and values yet (the
trunk, whose last token is the root).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

import torch

from .runner import ModelRunner, PassOutput
from .tree import ROOT, ForkTree


@dataclass
class FullPass:
    """A pass through every layer: row i belongs to `tokens[i]` and, past the trunk, `nodes[i]`."""

    tokens: list[int]
    nodes: list[int | None]
    output: PassOutput


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
        self._logits: dict[int, torch.Tensor] = {}
        self._tapped: dict[int, dict[int, torch.Tensor]] = {}
        self._wants_final, self.before_root = wants_final, before_root
        self._final: dict[int, torch.Tensor] = {}
        self._slots: dict[int, int] = {}
        self._full_slots: dict[int, int] = {}

    def run(self, nodes: Sequence[int]) -> None:
        """One pass through every layer over those of `nodes` that have none yet, if any.

        A node's parent must be run already or be among `nodes`, before it.
        """
        missing = [n for n in nodes if n not in self._full_slots]
        if not missing:
            return
        trunk = list(self._committed[self._runner.length :]) if ROOT not in self._full_slots else []
        branch = [n for n in missing if n != ROOT]
        start = self._runner.cache.cursor
        row_nodes: list[int | None] = [*([None] * (len(trunk) - 1)), ROOT] if trunk else []
        row_nodes += branch
        self._assign_slots(row_nodes, start)
        tokens = trunk + [self._tree.tokens[n] for n in branch]
        output = self._runner.forward(
            tokens,
            trunk=len(trunk),
            ancestors=[self._visible(n) for n in branch],
            positions=[self._position(n) for n in branch],
            taps=self._taps,
            want_final=self._wants_final,
        )
        if self._wants_final and len(trunk) > 1:
            self.before_root = output.final[len(trunk) - 2]
        self._full_slots.update({n: self._slots[n] for n in missing})
        self.full_passes.append(FullPass(tokens, row_nodes, output))
        for row, node in enumerate(row_nodes):
            if node is not None:
                self._logits[node] = output.logits[row]
                self._tapped[node] = {n: states[row] for n, states in output.tapped.items()}
                if output.final is not None:
                    self._final[node] = output.final[row]

    def run_early(self, nodes: Sequence[int]) -> None:
        """One pass as deep as the deepest tap only, over nodes no pass has tapped yet.

        The root must have been run in full. The rows serve this round only: their later layers
        hold nothing, so such a node is run again if it is ever committed.
        """
        missing = [n for n in nodes if n not in self._tapped]
        if not missing:
            return
        self._assign_slots(missing, self._runner.cache.cursor)
        output = self._runner.forward(
            [self._tree.tokens[n] for n in missing],
            trunk=0,
            ancestors=[self._visible(n) for n in missing],
            positions=[self._position(n) for n in missing],
            taps=self._taps,
            stop_after_taps=True,
        )
        for row, node in enumerate(missing):
            self._tapped[node] = {n: states[row] for n, states in output.tapped.items()}

    def logits(self, nodes: Sequence[int]) -> torch.Tensor:
        """Raw next-token logits [n, vocab] float32 of nodes that have been run."""
        return torch.stack([self._logits[n] for n in nodes])

    def tapped(self, nodes: Sequence[int], layers: int) -> torch.Tensor:
        """States after the first `layers` layers [n, width], from whichever pass ran them."""
        return torch.stack([self._tapped[n][layers] for n in nodes])

    def final(self, node: int) -> torch.Tensor | None:
        """The final hidden state [width] of a node, or None where no full pass ran it."""
        return self._final.get(node)

    def keep(self, path: Sequence[int]) -> None:
        """Commit the keys and values of the path as far as they exist in every layer; drop the rest."""
        slots = []
        for node in path:
            if node not in self._full_slots:
                break
            slots.append(self._full_slots[node])
        self._runner.keep(slots)

    def _assign_slots(self, row_nodes: Sequence[int | None], start: int) -> None:
        for offset, node in enumerate(row_nodes):
            if node is not None:
                self._slots[node] = start + offset

    def _visible(self, node: int) -> list[int]:
        """Scratch slots of a node's ancestors. The root is committed, so it needs no mention."""
        return [self._slots[n] for n in self._tree.path(node)[:-1]]

    def _position(self, node: int) -> int:
        return len(self._committed) - 1 + self._tree.depths[node]
