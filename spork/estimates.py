"""Estimates: what rounds lately took and how drafts lately fared, for whoever decides how much to draft."""

from __future__ import annotations

from collections import deque

#: Weight of a round in running means, once there are many.
MEMORY = 0.08
#: Tokens that a drafter is taken to have promised before any were seen to hold, and the share of them that held:
#: drafters overstate, the shipped head by about a third.
TRUST, HELD_BEFORE = 4.0, 0.7


class Running:
    """A mean that forgets: exact over the first values, exponential after."""

    def __init__(self, memory: float = MEMORY) -> None:
        self.value: float | None = None
        self.seen = 0
        self._memory = memory

    def add(self, value: float) -> None:
        self.seen += 1
        weight = max(self._memory, 1 / self.seen)
        self.value = value if self.value is None else self.value + weight * (value - self.value)


class LowestOfLast:
    """The lowest of the last `kept` values: few are seen, and whatever else a machine does only adds."""

    def __init__(self, kept: int) -> None:
        self._values: deque[float] = deque(maxlen=kept)
        self.seen = 0

    @property
    def value(self) -> float | None:
        return min(self._values, default=None)

    def add(self, value: float) -> None:
        self.seen += 1
        self._values.append(value)


class Belief:
    """Accepted tokens per token that the drafter's probabilities promised, lately; HELD_BEFORE before any were seen.

    The prior fades with the rest, so what was seen takes over.
    """

    def __init__(self) -> None:
        self._held, self._stated = HELD_BEFORE * TRUST, TRUST

    @property
    def value(self) -> float:
        return self._held / self._stated

    def learn(self, accepted: int, stated: float) -> None:
        """A round's kept nodes promised `stated` tokens in all, and `accepted` were."""
        self._held = (1 - MEMORY) * self._held + accepted
        self._stated = (1 - MEMORY) * self._stated + stated
