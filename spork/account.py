"""Account: what drafting has won and lost in one run, so that a losing drafter cannot lose much.

The contract: whatever drafts cost and however they fare, the time they lose against plain decoding
stays below START + ALLOWED a round + what one try takes, all in plain rounds. It goes by what happened, not by
what anyone promised. So a drafter that pays is never stopped for long, and one that does not
rests in proportion to what its tries have cost.
"""

from __future__ import annotations

import math

#: Plain rounds' time that drafts may lose at first, and for each round of the run.
START, ALLOWED = 0.75, 0.015
#: What was won earlier excuses this many plain rounds' worth of losses, and no more.
MOST = 3.0
#: Weight of a drafted round in the mean that is told.
MEMORY = 0.1


class Account:
    """Time in plain rounds: a drafted round pays what it took and earns the tokens it committed."""

    def __init__(self) -> None:
        self._balance = START
        self._tokens = self._cost = 0.0

    def round(self) -> None:
        """One more round begins."""
        self._balance = min(MOST, self._balance + ALLOWED)

    def drafted(self, tokens: int, cost: float) -> None:
        """A round that drafted committed `tokens` and took as long as `cost` plain rounds."""
        self._balance = min(MOST, self._balance + tokens - cost)
        self._tokens = (1 - MEMORY) * self._tokens + tokens
        self._cost = (1 - MEMORY) * self._cost + cost

    @property
    def overdrawn(self) -> bool:
        return self._balance <= 0

    @property
    def rounds_of_rest(self) -> int:
        """Plain rounds until drafting may be tried again."""
        return max(0, math.floor(-self._balance / ALLOWED) + 1) if self.overdrawn else 0

    @property
    def speed(self) -> float | None:
        """Rounds with drafts, lately, beside plain decoding: above 1 they pay; None before any."""
        return self._tokens / self._cost if self._cost else None
