"""An engine that needs no model: rounds on demand, as fast or as slow as a test wants."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any, Iterator

from spork.config import SporkConfig
from spork.errors import SporkError
from spork.events import Fork, Node, Round, RunFinished, RunStarted

FIGURES = {
    "tokens": 2, "decode_s": 0.1, "tokens_per_s": 20.0, "speedup": 1.2, "acceptance_rate": 1.0,
    "token_acceptance": 0.5, "mean_jump": 2.0, "tokens_per_round": 2.0,
}  # fmt: skip


def started(**config: Any) -> RunStarted:
    return RunStarted(
        config=SporkConfig.checked(**config).to_dict(), model="fake", device="cpu", dtype="float32",
        versions={}, machine="a test", prompt="Hello", prompt_tokens=3,
        reference={"tokens_per_s": 16.0, "paired": False},
    )  # fmt: skip


def node(id: int, parent: int, depth: int, text: str, status: str, rank: int = 0, score: float | None = 0.5) -> Node:
    return Node(id, parent, depth, rank, 100 + id, text, 0.25, score, status)


def round_(index: int, text: str = " one", other: str = " two") -> Round:
    """A round that accepts the first of two forks and adds a bonus token."""
    nodes = [
        node(1, 0, 1, text, "accepted", score=1.0),
        node(2, 0, 1, other, "rejected", rank=1, score=0.25),
        node(3, 1, 2, "!", "bonus", score=None),
    ]
    return Round(
        index=index, clock_s=0.05 * index, k=2, m=1, tau=1.0, root_id=7, root_text=" root", nodes=nodes,
        forks=[Fork([1], 1.0), Fork([2], 0.25)], decision="accepted", chosen=0, reason="fork 1 won",
        committed=[101, 103], pieces=[text, "!"], statuses=["accepted", "bonus"], text=f"{text}!",
        ms={"propose": 1.0, "verify": 40.0, "select": 0.5, "other": 2.0}, running=dict(FIGURES),
    )  # fmt: skip


def finished(rounds: int, reason: str = "length") -> RunFinished:
    metrics = FIGURES | {"ms_per_round": {"propose": 1.0, "verify": 40.0, "select": 0.5, "other": 2.0}, "parity": None}
    return RunFinished(reason, " one!" * rounds, [101, 103] * rounds, 3, rounds, metrics)


@dataclass
class Loaded:
    name: str = "fake"
    device: str = "cpu"
    dtype_name: str = "float32"


@dataclass
class FakeEngine:
    """`rounds` rounds, `pause` seconds apart; `fail_at` raises in that round."""

    rounds: int = 5
    pause: float = 0.0
    fail_at: int | None = None
    refuse: str | None = None
    loaded: Loaded = field(default_factory=Loaded)
    reference: dict[str, Any] | None = field(default_factory=lambda: {"tokens_per_s": 16.0, "paired": False})
    closed: threading.Event = field(default_factory=threading.Event)
    made: int = 0

    def check(self, prompt: str, config: SporkConfig) -> None:
        if self.refuse:
            raise SporkError(self.refuse)

    def run(self, prompt: str, config: SporkConfig, *, cancel: threading.Event | None = None) -> Iterator[Any]:
        self.closed.clear()
        return self._events(cancel or threading.Event())

    def _events(self, cancel: threading.Event) -> Iterator[Any]:
        try:
            yield started()
            for index in range(self.rounds):
                if cancel.is_set():
                    yield finished(index, "cancelled")
                    return
                if index == self.fail_at:
                    raise RuntimeError("broken in the middle")
                time.sleep(self.pause)
                self.made = index + 1
                yield round_(index)
            yield finished(self.rounds)
        finally:
            self.closed.set()
