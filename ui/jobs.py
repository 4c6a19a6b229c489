"""What a visitor can have an engine do: one run, a race against greedy, a sweep.

A job knows its model and how to begin: `prepare(engine)` checks everything, raises SporkError
before any work, and returns a function that, given a cancel event, iterates the engine's own
events. How they reach the page is live.py's business, and the same for all.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Protocol

from .requests import RunRequest

Begin = Callable[[threading.Event], Iterator[Any]]


class Job(Protocol):
    model: str

    def prepare(self, engine: Any) -> Begin: ...


@dataclass(frozen=True)
class _OneRequest:
    request: RunRequest

    @property
    def model(self) -> str:
        return self.request.model


@dataclass(frozen=True)
class LiveRun(_OneRequest):
    """Yields RunStarted, Round and RunFinished."""

    def prepare(self, engine: Any) -> Begin:
        prompt, config = self.request.prompt, self.request.config
        engine.check(prompt, config)
        return lambda cancel: engine.run(prompt, config, cancel=cancel)


@dataclass(frozen=True)
class Race(_OneRequest):
    """Yields the Laps of a paired run."""

    def prepare(self, engine: Any) -> Begin:
        from spork.baseline import PairedRun

        return PairedRun(engine, self.request.prompt, self.request.config).laps


@dataclass(frozen=True)
class SweepRun:
    """Yields SweepStarted, Cells and SweepFinished; `requests` differ in their prompt only."""

    requests: tuple[RunRequest, ...]
    ks: tuple[int, ...]
    ms: tuple[int, ...]
    taus: tuple[float, ...]
    seconds: float

    @property
    def model(self) -> str:
        return self.requests[0].model

    def prepare(self, engine: Any) -> Begin:
        from spork.sweep import Sweep

        prompts = [request.prompt for request in self.requests]
        return Sweep(engine, prompts, self.ks, self.ms, self.taus, self.requests[0].config, self.seconds).events
