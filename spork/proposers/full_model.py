"""The article's proposer: the model itself, one batched pass per depth.

It spends depth full passes to win at most depth tokens, so it can never beat greedy decoding. It
is here because it is the article's algorithm and shows why cheap proposing is the whole game.
"""

from __future__ import annotations

from ..round_context import RoundContext
from .base import Proposer
from .chains import add_best, grow_chains


class FullModel(Proposer):
    name = "full-model"
    summary = "the model itself, one full pass per depth: the article's way, never faster than greedy"
    runs_model = True

    def propose(self, context: RoundContext) -> None:
        grow_chains(context, self._extend)

    @staticmethod
    def _extend(context: RoundContext, nodes: list[int], width: int) -> list[int]:
        """Give each node its `width` likeliest next tokens, from one pass over all of them."""
        ranked = context.ranked(nodes)
        top = ranked.topk(min(width, ranked.shape[1]), dim=-1).indices
        chances = context.processed(nodes).softmax(dim=-1).gather(1, top)
        return add_best(context, nodes, top.tolist(), chances.tolist())
