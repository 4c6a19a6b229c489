"""FixedRounds: one run's use of rounds of fixed shape, where the run is one they can serve."""

from __future__ import annotations

from typing import Sequence

import torch

from .config import SporkConfig
from .proposers import ForkHead, Proposer
from .graphs import Rounds
from .shape_control import ShapeControl, sizes_up_to
from .static_round import Shape
from .tree import ForkTree
from .verifiers import Verdict, Verifier


def can_serve(config: SporkConfig, proposer: Proposer | None, verifier: Verifier, penalty: float) -> bool:
    """Fixed rounds are greedy, exact at tau 1, and draft with the fork head or not at all."""
    plain_law = config.temperature == 0 and penalty == 1.0
    drafts_so = proposer is None or (isinstance(proposer, ForkHead) and config.tau >= 1)
    return plain_law and verifier.name == "exact" and drafts_so


class FixedRounds:
    """`drafter` None decodes one token a round."""

    def __init__(self, rounds: Rounds, config: SporkConfig, drafter: ForkHead | None):
        self._rounds, self._config, self._drafter = rounds, config, drafter
        most = config.k * (config.m + 1) if drafter is not None else 0
        self._control = ShapeControl(sizes_up_to(most)) if drafter is not None and config.budget == "auto" else None
        self._most, self._tier = most, 0
        #: Text length that the device's state stands at; None where the host must set it first.
        self._at: int | None = None
        self._size, self._tree = 0, None

    @property
    def turned_down(self) -> str | None:
        return self._control.turned_down if self._control is not None else None

    def begin(self, slots: int) -> None:
        """Make room for a new text of `slots` slots, trees included."""
        self._tier = self._rounds.prepare(slots)

    def round(self, text: Sequence[int], depth: int, before: torch.Tensor | None) -> tuple[ForkTree, Verdict]:
        """One round after `text`, which may draft `depth` levels. `before` is the first round's."""
        levels = self._config.m + 1
        # A shape serves the whole run; where it would reach beyond the limits, a plain round does.
        wants = self._drafter is not None and depth == levels and (self._at is not None or before is not None)
        self._size = (self._control.size() if self._control is not None else self._most) if wants else 0
        shape = Shape(levels if self._size else 0, self._config.k if self._size else 0, self._size, self._tier)
        if self._at != len(text):
            self._rounds.state.set(text[-1], len(text) - 1, before)
        if self._size:
            self._rounds.state.give(self._drafter.given(levels))
        outcome = self._rounds.play(shape)
        self._rounds.runner.advance(outcome.accepted + 1)
        self._at = len(text) + outcome.accepted + 1
        self._tree = outcome.tree
        return outcome.tree, outcome.verdict

    def learn(self, accepted: int, ms: dict[str, float]) -> None:
        """The round is over: `accepted` drafted tokens were committed, in `ms` by phase."""
        if self._control is not None:
            self._control.learn(self._size, self._tree, accepted, sum(ms.values()))
