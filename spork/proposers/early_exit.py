"""Early exit: the model's own first N layers draft, through a fitted lens and the model's own lm_head.

What those layers computed is not thrown away: verifying goes on from it and runs only the layers
that are left. Source of the idea: Elhoushi et al. 2024, LayerSkip, arXiv:2404.16710; the lens
stands in for its training recipe.
"""

from __future__ import annotations

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

    def propose(self, context: RoundContext) -> None:
        grow_chains(context, self._extend)

    def _extend(self, context: RoundContext, nodes: list[int], width: int) -> list[int]:
        """Give each node its `width` likeliest next tokens, from one early pass over all of them."""
        tree, states = context.tree, context.states
        states.run_early(nodes)
        # The final state before a node is known at the root only; elsewhere it is still to be computed.
        before = states.before_root if nodes == [ROOT] else None
        final = self._lens.final_state(states.tapped(nodes, self._lens.layers), before[None] if before is not None else None)
        positions = [len(context.committed) + tree.depths[n] for n in nodes]
        vocabulary = self._lens.vocabulary
        log_p = vocabulary.log_p(final, context.law, positions)
        top = log_p.topk(min(width, log_p.shape[1]), dim=-1)
        return add_best(context, nodes, vocabulary.ids[top.indices].tolist(), top.values.exp().tolist())
