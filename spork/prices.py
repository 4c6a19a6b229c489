"""PriceList: what a pass over n rows costs on this machine, timed when a model loads.

Speculation pays when a round wins more tokens than its rows cost, so the engine must know the
price: it differs by device, dtype and kernel, and no rule of thumb holds for all.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Sequence

import torch

from .clock import wait_for
from .events import Round
from .runner import ModelRunner
from .sampling import favourites

ROWS = (1, 2, 3, 4, 8, 16, 32, 64, 128)
FEW_ROWS = 16
#: Turns of passes over FEW_ROWS at most, and over more.
TURNS, LARGE_TURNS = 9, 5
#: Committed tokens the timed passes look back on.
CONTEXT = 64


@dataclass(frozen=True)
class PriceList:
    """`pass_ms[i]` is the time of a pass over `rows[i]` rows, logits included."""

    rows: tuple[int, ...]
    pass_ms: tuple[float, ...]

    def __call__(self, rows: int) -> float:
        """Milliseconds of a pass over this many rows, interpolated; the last slope goes on beyond the end."""
        if rows <= self.rows[0] or len(self.rows) == 1:
            return self.pass_ms[0]
        i = next((i for i, r in enumerate(self.rows) if r >= rows), len(self.rows) - 1)
        (r0, r1), (t0, t1) = self.rows[i - 1 : i + 1], self.pass_ms[i - 1 : i + 1]
        return t0 + (t1 - t0) * (rows - r0) / (r1 - r0)


@dataclass(frozen=True)
class DraftPrice:
    """Milliseconds of the first drafted level, which finds the drafter's weights cold, and of each further one."""

    first_ms: float
    further_ms: float

    def __call__(self, levels: int) -> float:
        """Milliseconds of drafting so many levels, 1 at least."""
        return self.first_ms + self.further_ms * (levels - 1)


def draft_price(shallow: Sequence[Round], deep: Sequence[Round]) -> DraftPrice | None:
    """From rounds that drafted one level and rounds that drafted more, by medians; None where none drafted."""
    drafted = [(_levels(round_), round_.ms["propose"]) for round_ in [*shallow, *deep] if _levels(round_)]
    if not drafted:
        return None
    first = [ms for levels, ms in drafted if levels == 1] or [ms / levels for levels, ms in drafted]
    first_ms = statistics.median(first)
    further = [(ms - first_ms) / (levels - 1) for levels, ms in drafted if levels > 1]
    return DraftPrice(first_ms, max(0.0, statistics.median(further)) if further else first_ms)


def _levels(round_: Round) -> int:
    return max((len(fork.nodes) for fork in round_.forks), default=0)


@torch.inference_mode()
def measure(runner: ModelRunner, most_rows: int = ROWS[-1], context: int = CONTEXT) -> PriceList:
    """Time passes of 1, 2, 3, 4, 8 ... rows up to `most_rows` after `context` tokens, in turns.

    What is kept is what a pass takes beside one of a single row in the same turn, by the median of the
    turns: a machine's speed may change between one turn and the next, and a best or a mean of all
    would then compare a slow moment with a fast one. Made never to fall as rows grow, so that noise
    cannot make more rows look cheaper than fewer.
    """
    rows = [r for r in ROWS if r < most_rows] + [most_rows]
    try:
        runner.reset(context + most_rows)
        for _ in runner.prefill([0] * context, logits=False):
            pass
        for r in rows:  # a first use takes longer
            _time_pass(runner, r, context)
        # Large passes take long and vary little: a few turns will do for them.
        turns = [{r: _time_pass(runner, r, context) for r in rows if r <= FEW_ROWS or turn < LARGE_TURNS} for turn in range(TURNS)]
    finally:
        runner.cache.clear()
    one = statistics.median(turn[1] for turn in turns)
    times = [one * statistics.median(turn[r] / turn[1] for turn in turns if r in turn) for r in rows]
    return PriceList(tuple(rows), tuple(max(times[: i + 1]) for i in range(len(times))))


def _time_pass(runner: ModelRunner, rows: int, context: int) -> float:
    wait_for(runner.device)
    start = time.perf_counter()
    output = runner.forward([0] * rows, trunk=0, ancestors=[[]] * rows, positions=[context] * rows)
    favourites(output.logits).tolist()
    runner.keep([])
    return 1000 * (time.perf_counter() - start)
