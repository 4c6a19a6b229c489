"""The sweep: every cell once, against greedy before and after, within its budget."""

from __future__ import annotations

import threading

import pytest

from spork.config import SporkConfig
from spork.engine import Engine
from spork.errors import ConfigError
from spork.sweep import GROUP, Cell, Sweep, SweepFinished, SweepStarted
from tests.spork.decode import PROMPT
from tests.tiny import tiny_model

CONFIG = SporkConfig(max_new_tokens=8, proposer="recycling")


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(tiny_model("llama"))


def sweep(engine, ks=(1, 2), ms=(0, 1, 2), taus=(1.0,), prompts=(PROMPT,), config=CONFIG, seconds=600.0):
    return Sweep(engine, prompts, ks, ms, taus, config, seconds)


def test_every_cell_is_measured_and_settled_by_greedy_after_it(engine):
    started, *events, finished = sweep(engine).events()
    assert isinstance(started, SweepStarted) and started.cells == 6
    assert isinstance(finished, SweepFinished) and (finished.reason, finished.cells) == ("done", 6)
    settled = {(c.k, c.m): c for c in events if c.settled}
    assert set(settled) == {(k, m) for k in (1, 2) for m in (0, 1, 2)}
    assert len(finished.greedy_tokens_per_s) == 1 + -(-6 // GROUP)
    for cell in settled.values():
        assert cell.identical and cell.tokens_per_round >= 1
        low, high = min(finished.greedy_tokens_per_s), max(finished.greedy_tokens_per_s)
        assert cell.tokens_per_s / high <= cell.speedup <= cell.tokens_per_s / low


def test_a_low_tau_may_change_the_text_and_says_so(engine):
    cells = [c for c in sweep(engine, ks=(8,), ms=(2,), taus=(0.0, 1.0)).events() if isinstance(c, Cell) and c.settled]
    assert {c.tau: c.identical for c in cells} == {0.0: False, 1.0: True}


def test_the_budget_ends_it_with_what_is_there(engine):
    *events, finished = sweep(engine, seconds=1e-9).events()
    assert finished.reason == "budget" and finished.cells == 0
    assert not [e for e in events if isinstance(e, Cell)]


def test_cancelling_ends_it_at_once_and_the_engine_is_free(engine):
    cancel = threading.Event()
    events = sweep(engine).events(cancel)
    seen = []
    for event in events:
        seen.append(event)
        if isinstance(event, Cell):
            cancel.set()
    assert seen[-1].reason == "cancelled" and seen[-1].cells == 1
    assert not [c for c in seen if isinstance(c, Cell) and c.settled]
    *_, finished = engine.run(PROMPT, CONFIG)
    assert finished.reason in ("length", "eos")


@pytest.mark.parametrize("change, words", [
    ({"ks": ()}, "no value for k"), ({"ms": (9,)}, "m is 9"), ({"taus": (2.0,)}, "tau is 2"), ({"prompts": ()}, "1 to 8 prompts"),
    ({"prompts": (" ",)}, "empty"), ({"seconds": 0}, "budget"), ({"seconds": float("nan")}, "budget"),
    ({"ks": range(1, 9), "ms": range(9), "taus": (0.5, 1.0)}, "144 cells"),
    ({"config": SporkConfig(max_new_tokens=0)}, "at least one new token"),
])
def test_a_bad_sweep_is_refused_before_any_work(engine, change, words):
    with pytest.raises(ConfigError, match=words):
        sweep(engine, **change)
