"""A small sweep over K, M and tau on given prompts, measured as the paired baseline is.

Cells are visited in a shuffled order, so that a machine that slows down or speeds up does not
draw a gradient of its own. Greedy runs on the same prompts before every group of cells and after
it, and a cell's speed-up is against both. Every cell drafts its whole tree (budget "full"),
because K and M would otherwise be bounds that the controller need not use.
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, replace
from typing import Iterator, Literal, Sequence

from .baseline import rate_of
from .config import KNOBS, SporkConfig
from .engine import Engine
from .errors import ConfigError
from .events import RunFinished
from .metrics import ratio

#: Cells between two greedy runs.
GROUP = 4
MAX_CELLS = 128
MAX_PROMPTS = 8


@dataclass(frozen=True)
class Cell:
    """What one setting came to over all prompts. `identical`: every text is plain decoding's, token by token.

    `settled` says that greedy has run after it too; until then `speedup` is against the run before.
    """

    k: int
    m: int
    tau: float
    tokens_per_s: float | None
    speedup: float | None
    tokens_per_round: float | None
    acceptance_rate: float | None
    identical: bool
    settled: bool
    event: Literal["cell"] = "cell"


@dataclass(frozen=True)
class SweepStarted:
    """What is about to be measured."""

    cells: int
    prompts: int
    max_new_tokens: int
    seconds: float
    config: dict
    event: Literal["sweep_started"] = "sweep_started"


@dataclass(frozen=True)
class SweepFinished:
    """Why it ended; `cells` were measured, against greedy runs of these tokens/s, in order."""

    reason: Literal["done", "budget", "cancelled"]
    cells: int
    greedy_tokens_per_s: list[float]
    seconds: float
    event: Literal["sweep_finished"] = "sweep_finished"


class Sweep:
    """K x M x tau over prompts, `config` giving everything else.

    Raises ConfigError for a grid that is empty, too large or out of range, and SporkError where
    the engine would refuse a run; both before any work.
    """

    def __init__(
        self, engine: Engine, prompts: Sequence[str], ks: Sequence[int], ms: Sequence[int], taus: Sequence[float],
        config: SporkConfig, seconds: float = 60.0,
    ):  # fmt: skip
        for name, values in (("k", ks), ("m", ms), ("tau", taus)):
            if not values:
                raise ConfigError(f"the sweep has no value for {name}; choose at least one")
            for value in values:
                KNOBS[name].check(name, value)
        if not 1 <= len(prompts) <= MAX_PROMPTS:
            raise ConfigError(f"a sweep takes 1 to {MAX_PROMPTS} prompts, got {len(prompts)}")
        grid = [(k, m, tau) for k in dict.fromkeys(ks) for m in dict.fromkeys(ms) for tau in dict.fromkeys(taus)]
        if len(grid) > MAX_CELLS:
            raise ConfigError(f"the sweep has {len(grid)} cells; allowed: at most {MAX_CELLS}")
        if not 0 < seconds <= 3600:
            raise ConfigError(f"the sweep's budget is {seconds:g} s, out of range; allowed: above 0, up to 3600")
        if config.max_new_tokens < 1:
            raise ConfigError("a sweep needs at least one new token a run")
        self._config = replace(config, budget="full")
        self._settings = [replace(self._config, k=k, m=m, tau=tau) for k, m, tau in grid]
        for prompt in prompts:
            engine.check(prompt, self._settings[0])
        random.Random(0).shuffle(self._settings)
        self._engine, self._seconds = engine, seconds
        self._ids = [engine.encode(prompt, raw=False) for prompt in prompts]

    def events(self, cancel: threading.Event | None = None) -> Iterator[SweepStarted | Cell | SweepFinished]:
        """A cell at a time, each twice: at once, and again when greedy has run after it."""
        began = time.perf_counter()
        cancel = cancel or threading.Event()
        spent = lambda: time.perf_counter() - began
        yield SweepStarted(len(self._settings), len(self._ids), self._config.max_new_tokens, self._seconds, self._config.to_dict())
        greedy = self._greedy(cancel)  # the first run warms the machine up and is not counted
        greedy = self._greedy(cancel)
        rates, measured, reason = [], 0, "done"
        pending: list[Cell] = []
        if greedy:
            rates.append(rate_of(greedy))
        for settings in self._settings:
            if cancel.is_set() or spent() >= self._seconds:
                reason = "cancelled" if cancel.is_set() else "budget"
                break
            runs = self._runs(settings, cancel, plain=False)
            if runs is None:
                reason = "cancelled"
                break
            cell = _cell(settings, runs, rates[-1], greedy)
            measured += 1
            pending.append(cell)
            yield cell
            if len(pending) == GROUP or measured == len(self._settings):
                yield from self._settle(pending, rates, cancel)
                pending = []
        if pending and not cancel.is_set():
            yield from self._settle(pending, rates, cancel)
        yield SweepFinished(reason, measured, [rate for rate in rates if rate], spent())

    def _settle(self, pending: list[Cell], rates: list[float | None], cancel: threading.Event) -> Iterator[Cell]:
        after = self._greedy(cancel)
        if after is None:
            return
        rates.append(rate_of(after))
        # The mean of the two times, as if both runs were one: the harmonic mean of the rates.
        around = [rate for rate in rates[-2:] if rate]
        mean = len(around) / sum(1 / rate for rate in around) if around else None
        for cell in pending:
            yield replace(cell, speedup=_over(cell.tokens_per_s, mean), settled=True)

    def _greedy(self, cancel: threading.Event) -> list[RunFinished] | None:
        return self._runs(self._config, cancel, plain=True)

    def _runs(self, config: SporkConfig, cancel: threading.Event, *, plain: bool) -> list[RunFinished] | None:
        """One run a prompt, or None when cancelled."""
        finished = []
        for ids in self._ids:
            *_, last = self._engine.run_ids(ids, config, plain=plain, cancel=cancel)
            if cancel.is_set():
                return None
            finished.append(last)
        return finished


def _cell(settings: SporkConfig, runs: list[RunFinished], greedy_rate: float | None, greedy: list[RunFinished]) -> Cell:
    rounds = sum(run.rounds for run in runs)
    tokens = sum(len(run.token_ids) for run in runs)
    accepted = sum((run.metrics["acceptance_rate"] or 0) * run.rounds for run in runs)
    rate = rate_of(runs)
    return Cell(
        k=settings.k, m=settings.m, tau=settings.tau, tokens_per_s=rate, speedup=_over(rate, greedy_rate),
        tokens_per_round=ratio(tokens, rounds), acceptance_rate=ratio(accepted, rounds),
        identical=[run.token_ids for run in runs] == [run.token_ids for run in greedy], settled=False,
    )  # fmt: skip


def _over(rate: float | None, greedy: float | None) -> float | None:
    return rate / greedy if rate is not None and greedy else None
