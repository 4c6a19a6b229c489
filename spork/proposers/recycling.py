"""Token recycling: guess from the successors the model last gave after each token.

Every pass the model runs anyway yields, for each token it ran, the likeliest next ones; keeping
the latest few a token makes a table that drafts a tree for free. Source of the method: Luo et
al. 2024, "Turning Trash into Treasure", arXiv:2408.08696. Here the table starts cold in every run
and is seeded by the prompt, so a run depends on nothing that ran before it.
"""

from __future__ import annotations

from typing import Sequence

import torch

from ..config import KNOBS, SporkConfig
from ..parts import ModelParts
from ..round_context import RoundContext
from ..tree import ROOT
from .base import Proposer

SUCCESSORS = int(KNOBS["k"].high)  # as many as the root can have children


class Recycling(Proposer):
    name = "recycling"
    summary = "a table of the successors last seen after each token: free"
    reads_logits = True

    def __init__(self, config: SporkConfig, parts: ModelParts):
        self._table: dict[int, list[tuple[int, float]]] = {}

    def saw(self, tokens: Sequence[int], logits: torch.Tensor) -> None:
        top = logits.topk(min(SUCCESSORS, logits.shape[1]), dim=-1)
        chances = (top.values - logits.logsumexp(dim=-1, keepdim=True)).exp()
        for token, successors, ps in zip(tokens, top.indices.tolist(), chances.tolist()):
            self._table[token] = list(zip(successors, ps))

    def propose(self, context: RoundContext) -> None:
        if context.depth == 0:
            return
        for token, p in self._table.get(context.tree.tokens[ROOT], [])[: context.k]:
            node = context.tree.add(ROOT, token, p)
            for _ in range(context.depth - 1):
                successors = self._table.get(token)
                if not successors or token in context.end_tokens:
                    break
                token, p = successors[0]
                node = context.tree.add(node, token, p)
