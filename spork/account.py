"""Account: what drafting has won and lost in one run, so that a losing drafter cannot lose much.

The contract: whatever drafts cost and however they fare, the time they lose against plain decoding
stays below START (MOST, after rounds that won) + ALLOWED a round + what one try takes, all in plain rounds, as far
as it is told true costs. It goes by what happened, not by what anyone promised. So a drafter that pays is
never stopped for long, and one that does not rests in proportion to what its tries have cost.
"""

from __future__ import annotations

import math

#: Plain rounds' time that drafts may lose at first, and for each round of the run.
START, ALLOWED = 0.75, 0.015
#: What was won earlier excuses this many plain rounds' worth of losses, and no more.
MOST = 3.0


class Account:
    """Time in plain rounds: a drafted round pays what it took and earns the tokens it committed."""

    def __init__(self) -> None:
        self._balance = START

    def round(self) -> None:
        """One more round begins."""
        self._balance = min(MOST, self._balance + ALLOWED)

    def drafted(self, tokens: int, cost: float) -> None:
        """A round that drafted committed `tokens` and took as long as `cost` plain rounds."""
        self._balance = min(MOST, self._balance + tokens - cost)

    @property
    def overdrawn(self) -> bool:
        return self._balance <= 0

    @property
    def rounds_of_rest(self) -> int:
        """Plain rounds until drafting may be tried again."""
        return math.floor(-self._balance / ALLOWED) + 1 if self.overdrawn else 0
