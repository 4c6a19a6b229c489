"""Early exit: the model's own first N layers draft, through a fitted lens and the model's own lm_head.

What those layers computed is not thrown away: verifying goes on from it and runs only the layers
that are left. Source of the idea: Elhoushi et al. 2024, LayerSkip, arXiv:2404.16710; the lens
stands in for its training recipe. It reads the final state of the position before too: the true one at the
root, and below it what the lens itself made of the parent.
"""

from __future__ import annotations

import torch

from ..config import SporkConfig
from ..errors import ConfigError
from ..parts import ModelParts
from ..round_context import RoundContext
from ..tree import ROOT
from .base import Proposer
from .chains import add_best, grow_chains


class EarlyExit(Proposer):
    name = "early-exit"
    summary = "the model's first N layers through a fitted lens: N of its layers per depth, which verifying reuses"
    wants_final = True

    def __init__(self, config: SporkConfig, parts: ModelParts):
        lens = parts.draft_lens()
        if lens is None:
            raise ConfigError(f"no lens was fitted for {parts.name}; make one with fit-lens, or use another proposer")
        self._lens = lens
        self.taps = (lens.layers,)
        self._predicted: dict[int, torch.Tensor] = {}  # final states [width] of this round's nodes

    def propose(self, context: RoundContext) -> None:
        self._predicted = {}
        grow_chains(context, self._extend)

    def _extend(self, context: RoundContext, nodes: list[int], width: int) -> list[int]:
        """Give each node its `width` likeliest next tokens, from one early pass over all of them."""
        tree, states = context.tree, context.states
        states.run_early(nodes)
        final = self._lens.final_state(states.tapped(nodes, self._lens.layers), self._before(context, nodes))
        self._predicted.update(zip(nodes, final))
        positions = [len(context.committed) + tree.depths[n] for n in nodes]
        vocabulary = self._lens.vocabulary
        log_p = vocabulary.log_p(final, context.law, positions)
        top = log_p.topk(min(width, log_p.shape[1]), dim=-1)
        return add_best(context, nodes, vocabulary.ids[top.indices].tolist(), top.values.exp().tolist())

    def _before(self, context: RoundContext, nodes: list[int]) -> torch.Tensor | None:
        """Final states [n, width] of the positions before some nodes; None where the root's is not known."""
        if nodes != [ROOT]:
            return torch.stack([self._predicted[context.tree.parents[n]] for n in nodes])
        before = context.states.before_root
        return before[None] if before is not None else None
