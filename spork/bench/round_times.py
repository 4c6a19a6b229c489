"""What a whole round of fixed shape costs by the rows it verifies, drafting included."""

from __future__ import annotations

import statistics
import time

import torch

from ..clock import wait_for
from ..graphs import Rounds
from ..static_round import Shape

ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
LEVELS, FORKS = 4, 8
#: Committed tokens the timed rounds look back on.
CONTEXT = 128


@torch.inference_mode()
def time_rounds(rounds: Rounds, repeats: int) -> dict[str, list[float]]:
    """`rows` and the median milliseconds `ms` of a round of each; a round of one row drafts nothing."""
    runner = rounds.runner
    shapes = {}
    try:
        tier = rounds.prepare(CONTEXT + ROWS[-1] + 1)
        for _, output in runner.prefill([1] * CONTEXT, logits=False, want_final=True):
            before = output.final[-1]
        for rows in ROWS:
            drafts = rows > 1
            shapes[rows] = Shape(LEVELS if drafts else 0, FORKS if drafts else 0, rows - 1, tier)
        turns = [{rows: _time(rounds, shape, before) for rows, shape in shapes.items()} for _ in range(repeats + 2)][2:]
    finally:
        runner.cache.clear()
    return {"rows": list(ROWS), "ms": [statistics.median(turn[rows] for turn in turns) for rows in ROWS]}


def _time(rounds: Rounds, shape: Shape, before: torch.Tensor) -> float:
    rounds.state.set(1, CONTEXT, before)
    wait_for(rounds.runner.device)
    start = time.perf_counter()
    rounds.play(shape)
    return 1000 * (time.perf_counter() - start)
