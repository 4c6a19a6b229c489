"""The paired baseline: the same engine, process and prompt, one token a pass; and the parity check.

A run and its baseline alternate, so that a machine that slows down or speeds up meets both. With
sampling the baseline samples plainly from the same seed, so parity can be checked there too.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any, Iterator, Literal, Sequence

import torch

from .config import SporkConfig
from .engine import Engine
from .events import Round, RunFinished, RunStarted
from .metrics import ratio
from .sampling import TokenLaw, penalty_in_force

WARM_UP_TOKENS = 8


@dataclass(frozen=True)
class Lap:
    """One event of one of the three runs: `lane` is greedy or spork, `turn` counts the lane's runs from 0."""

    lane: Literal["greedy", "spork"]
    turn: int
    event: RunStarted | Round | RunFinished


class PairedRun:
    """One prompt, run as configured between two plain runs: plain, SPORK, plain."""

    def __init__(self, engine: Engine, prompt: str, config: SporkConfig, *, raw: bool = False):
        """Raises SporkError for bad input, before any work."""
        engine.check(prompt, config, raw=raw)
        self._engine, self._prompt, self._config = engine, prompt, config
        self._ids = engine.encode(prompt, raw=raw)

    def events(self) -> Iterator[RunStarted | Round | RunFinished]:
        """The SPORK run's events; the last one carries the paired speed-up and parity."""
        return (lap.event for lap in self.laps() if lap.lane == "spork")

    def laps(self, cancel: threading.Event | None = None) -> Iterator[Lap]:
        """Every event of the three runs in the order they are made, warm-ups left out.

        The SPORK run's RunFinished comes last of all, because its figures need both plain runs.
        Once `cancel` is set the run in progress ends within a round, and nothing is compared.
        """
        short = replace(self._config, max_new_tokens=min(WARM_UP_TOKENS, self._config.max_new_tokens))
        for plain in (True, False):
            for _ in self._engine.run_ids(self._ids, short, plain=plain, cancel=cancel):
                pass
        before = yield from self._lap("greedy", 0, None, cancel)
        if _stopped(cancel):
            return
        ours = yield from self._lap("spork", 0, _reference([before]), cancel, keep_end=True)
        if not _stopped(cancel):
            after = yield from self._lap("greedy", 1, None, cancel)
            if not _stopped(cancel):
                ours = with_baseline(self._engine, self._ids, self._config, ours, [before, after])
        yield Lap("spork", 0, ours)

    def _lap(
        self, lane: str, turn: int, reference: dict[str, Any] | None, cancel: threading.Event | None, keep_end: bool = False
    ) -> Iterator[Lap]:
        """One run; returns its RunFinished, which is kept back when `keep_end`."""
        finished = None
        for event in self._engine.run_ids(
            self._ids, self._config, plain=lane == "greedy", prompt=self._prompt, reference=reference, cancel=cancel
        ):
            if isinstance(event, RunFinished):
                finished = event
            if event is not finished or not keep_end:
                yield Lap(lane, turn, event)
        return finished


def _stopped(cancel: threading.Event | None) -> bool:
    return cancel is not None and cancel.is_set()


def rate_of(runs: Sequence[RunFinished]) -> float | None:
    """Tokens a second over several runs as if they were one; None where no time went by."""
    return ratio(sum(len(run.token_ids) for run in runs), sum(run.metrics["decode_s"] for run in runs))


def _reference(runs: Sequence[RunFinished]) -> dict[str, Any] | None:
    rate = rate_of(runs)
    return {"tokens_per_s": rate, "paired": True} if rate else None


def with_baseline(
    engine: Engine, ids: Sequence[int], config: SporkConfig, finished: RunFinished, baselines: Sequence[RunFinished]
) -> RunFinished:
    """`finished` with the figures that need a baseline, taken over all `baselines` together."""
    metrics = dict(finished.metrics)
    reference = _reference(baselines)
    if reference and metrics["tokens_per_s"] is not None:
        greedy = reference["tokens_per_s"]
        per_round_s = metrics["decode_s"] / metrics["rounds"]
        metrics |= {
            "greedy_tokens_per_s": greedy, "speedup": metrics["tokens_per_s"] / greedy,
            "speedup_paired": True, "break_even": per_round_s * greedy,
        }
    metrics["parity"] = parity(engine, ids, config, finished.token_ids, baselines[0].token_ids)
    return replace(finished, metrics=metrics)


def parity(
    engine: Engine, ids: Sequence[int], config: SporkConfig, ours: Sequence[int], plain: Sequence[int]
) -> dict[str, Any]:
    """`identical`, and else `first_difference` (0-based output position) and `logit_gap`.

    The gap is how far the plain run's token stands above ours where they first differ, in
    processed logits (noise included when sampling), from one pass over that prefix; null when one
    output merely ends before the other.
    """
    if list(ours) == list(plain):
        return {"identical": True, "first_difference": None, "logit_gap": None}
    shared = shared_tokens(ours, plain)
    gap = None
    if shared < min(len(ours), len(plain)):
        gap = _gap(engine, [*ids, *plain[:shared]], config, ours[shared], plain[shared])
    return {"identical": False, "first_difference": shared, "logit_gap": gap}


def shared_tokens(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens two outputs begin with alike."""
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


@torch.inference_mode()
def _gap(engine: Engine, prefix: list[int], config: SporkConfig, ours: int, plain: int) -> float:
    runner = engine.runner
    try:
        runner.reset(len(prefix))
        for _ in runner.prefill(prefix[:-1], logits=False):
            pass
        logits = runner.forward(prefix[-1:], trunk=1, ancestors=()).logits
    finally:
        runner.cache.clear()
    law = TokenLaw(config, penalty_in_force(config, engine.loaded.model))
    row = law.rank(law.process(logits, [prefix]), [len(prefix)])[0]
    return float(row[plain] - row[ours])
