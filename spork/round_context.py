"""RoundContext: what a proposer and a verifier may know and ask in one round."""

from __future__ import annotations

from typing import Callable, Sequence

import torch

from .rows import Rows
from .sampling import TokenLaw, favourites
from .states import NodeStates
from .tree import ROOT, ForkTree


class RoundContext:
    """One round's tree and the model's view of it.

    `committed` is prompt and output so far; its last token is the root. `k` and `depth` bound the
    tree: children of the root, drafted tokens on a path (M + 1, or less near a limit); `budget`
    its nodes below the root. A proposer that pays for every level asks `deepen(reaches)`, where there
    is one, after each whether one more is wanted below nodes that the text goes through with these
    probabilities.
    """

    def __init__(
        self, committed: Sequence[int], k: int, depth: int, tau: float,
        states: NodeStates, tree: ForkTree, law: TokenLaw, end_tokens: frozenset[int],
        deepen: Callable[[Sequence[float]], bool] | None = None,
    ):
        self.committed, self.k, self.depth, self.tau = committed, k, depth, tau
        self.states, self.tree, self.law, self.end_tokens = states, tree, law, end_tokens
        self.deepen = deepen
        self.budget = k * depth
        self._processed = Rows()

    def trim(self, nodes: Sequence[int]) -> None:
        """Drop every drafted node but `nodes`, whose parents must be among them; renumbers the tree."""
        self.states.trim(nodes)
        self._processed.renumber({ROOT: ROOT})

    def processed(self, nodes: Sequence[int]) -> torch.Tensor:
        """Processed next-token logits [n, vocab] of nodes; runs the model where it has not run."""
        self.states.run(nodes)
        missing = [n for n in nodes if n not in self._processed]
        if missing:
            wants = missing if self.law.reads_prefixes else []
            prefixes = [[*self.committed, *self.tree.path_tokens(n)] for n in wants]
            self._processed.put(missing, self.law.process(self.states.logits(missing), prefixes))
        return self._processed.get(nodes)

    def ranked(self, nodes: Sequence[int]) -> torch.Tensor:
        """What the model's own token after each node is the argmax of [n, vocab]."""
        positions = [len(self.committed) + self.tree.depths[n] for n in nodes]
        return self.law.rank(self.processed(nodes), positions)

    def own_token(self) -> int:
        """The token the model itself would commit after the root."""
        return int(favourites(self.ranked([ROOT]))[0])
