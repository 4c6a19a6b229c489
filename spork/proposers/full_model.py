"""The article's proposer: the model itself, one batched pass per depth.

It spends depth full passes to win at most depth tokens, so it can never beat greedy decoding. It
is here because it is the article's algorithm and shows why cheap proposing is the whole game.
"""

from __future__ import annotations

from ..round_context import RoundContext
from ..tree import ROOT
from .base import Proposer


class FullModel(Proposer):
    name = "full-model"
    summary = "the model itself, one full pass per depth: the article's way, never faster than greedy"
    runs_model = True

    def propose(self, context: RoundContext) -> None:
        if context.depth == 0:
            return
        frontier = self._extend(context, [ROOT], context.k)
        for _ in range(context.depth - 1):
            alive = [n for n in frontier if context.tree.tokens[n] not in context.end_tokens]
            if not alive:
                return
            frontier = self._extend(context, alive, 1)

    @staticmethod
    def _extend(context: RoundContext, nodes: list[int], width: int) -> list[int]:
        """Give each node its `width` likeliest next tokens, from one pass over all of them."""
        ranked = context.ranked(nodes)
        top = ranked.topk(min(width, ranked.shape[1]), dim=-1).indices
        chances = context.processed(nodes).softmax(dim=-1).gather(1, top)
        added = []
        for node, tokens, ps in zip(nodes, top.tolist(), chances.tolist()):
            added += [context.tree.add(node, token, p) for token, p in zip(tokens, ps)]
        return added
