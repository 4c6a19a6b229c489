"""Exact verification: one pass of the whole model over the whole tree (tree attention).

A token's score is p(token) / max p at its parent, so 1 means it is the model's favourite. At tau
= 1 only the model's own token passes and the text is the model's own, greedy or sampled. Tree
attention for verification: Miao et al. 2023, SpecInfer, arXiv:2305.09781.
"""

from __future__ import annotations

import torch

from ..round_context import RoundContext
from ..sampling import favourites
from ..tree import ROOT
from .base import Verdict, Verifier


class Exact(Verifier):
    name = "exact"
    summary = "one pass of the model over the tree; lossless at tau 1"
    lossless = True
    gives_bonus = True

    def verify(self, context: RoundContext) -> Verdict:
        tree = context.tree
        nodes = list(range(len(tree)))
        own = favourites(context.ranked(nodes))
        processed = context.processed(nodes)
        # Greedily the model's own token is the favourite; a sampled one need not be.
        rows = torch.arange(len(tree), device=own.device)
        best = processed.max(dim=-1).values if context.law.sampled else processed[rows, own]
        parents = torch.tensor(tree.parents[1:], dtype=torch.long, device=processed.device)
        tokens = torch.tensor(tree.tokens[1:], dtype=torch.long, device=processed.device)
        ratios = (processed[parents, tokens] - best[parents]).exp()
        # One transfer brings everything the host decides on.
        own_list, ratio_list = own.tolist(), ratios.tolist()
        scores: list[float | None] = [None, *ratio_list]
        return Verdict(
            node_scores=scores,
            fork_scores=[scores[fork] for fork in tree.children(ROOT)],
            own_tokens=dict(enumerate(own_list)),
            by_token=True,
        )
