"""The article's cheap proxy: a fork is worth as much as its first token is likely.

Costs one pass over the root, which any round needs; everything behind the first token is taken on
trust, so the text changes.
"""

from __future__ import annotations

from ..round_context import RoundContext
from ..tree import ROOT
from .base import Verdict, Verifier


class FirstToken(Verifier):
    name = "first-token"
    summary = "the first token's probability, the rest on trust; changes the text"

    def verify(self, context: RoundContext) -> Verdict:
        tree = context.tree
        forks = tree.children(ROOT)
        chances = context.processed([ROOT])[0].softmax(dim=-1)
        scores: list[float | None] = [None] * len(tree)
        for fork, p in zip(forks, chances[[tree.tokens[f] for f in forks]].tolist()):
            scores[fork] = p
        return Verdict(scores, [scores[f] for f in forks], {ROOT: context.own_token()})
