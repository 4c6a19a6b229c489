"""Prices: what passes and drafts cost, read right from a machine whose speed wanders."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from spork import prices
from spork.engine import Engine
from spork.events import Fork
from spork.prices import DraftPrice, PriceList, draft_price, measure
from tests.spork.decode import decode
from tests.tiny import tiny_model


def test_a_price_list_interpolates_and_goes_on():
    prices = PriceList((1, 2, 4), (10.0, 12.0, 20.0))
    assert [prices(n) for n in (1, 2, 3, 4, 5)] == [10, 12, 16, 20, 24]
    assert PriceList((1,), (7.0,))(50) == 7


TRUE = {1: 1.0, 2: 1.02, 3: 1.04, 4: 1.05, 8: 1.1, 16: 1.3, 32: 1.6, 64: 2.0, 128: 3.0}


def measured(monkeypatch, speed) -> PriceList:
    """What is read where a pass takes 10 ms times its true price times `speed(turn, rows)`."""
    passes: list[int] = []

    def time_pass(runner, rows: int, context: int) -> float:
        passes.append(rows)
        return 10 * TRUE[rows] * speed(passes.count(1) - 1, rows)

    monkeypatch.setattr(prices, "_time_pass", time_pass)
    return measure(Engine(tiny_model("llama")).runner)


def test_a_machine_that_changes_its_speed_between_turns_does_not_bend_the_list(monkeypatch):
    found = measured(monkeypatch, lambda turn, rows: (1.0, 2.0, 0.7)[turn % 3])
    assert found.rows == tuple(TRUE)
    for rows, ms in zip(found.rows, found.pass_ms):
        assert ms / found.pass_ms[0] == pytest.approx(TRUE[rows])


def test_a_pass_that_was_disturbed_now_and_then_does_not_either(monkeypatch):
    found = measured(monkeypatch, lambda turn, rows: 5.0 if (turn + rows) % 3 == 0 and rows <= 16 else 1.0)
    for rows, ms in zip(found.rows, found.pass_ms):
        assert ms / found.pass_ms[0] == pytest.approx(TRUE[rows])


def test_prices_never_fall_as_rows_grow(monkeypatch):
    found = measured(monkeypatch, lambda turn, rows: 0.5 if rows in (4, 32) else 1.0)
    assert list(found.pass_ms) == sorted(found.pass_ms)


def test_what_is_timed_is_real_and_leaves_the_cache_empty():
    runner = Engine(tiny_model("llama")).runner
    found = measure(runner, most_rows=5)
    assert found.rows == (1, 2, 3, 4, 5) and all(ms > 0 for ms in found.pass_ms)
    assert runner.length == 0
    assert measure(runner, most_rows=1).rows == (1,)


def drafted(levels: int, ms: float) -> SimpleNamespace:
    """What a price is read from a round: how deep it drafted and what that took."""
    return SimpleNamespace(forks=[Fork(list(range(levels)), None)] if levels else [], ms={"propose": ms})


def test_the_first_level_and_further_ones_are_priced_apart():
    shallow = [drafted(1, 3.0), drafted(1, 2.0), drafted(1, 90.0)]
    deep = [drafted(4, 6.0), drafted(4, 6.3), drafted(0, 1.0), drafted(3, 70.0)]
    price = draft_price(shallow, deep)
    assert price.first_ms == 3.0 and price.further_ms == pytest.approx(1.1)
    assert price(1) == 3.0 and price(4) == pytest.approx(6.3)


def test_a_price_is_had_from_what_was_drafted_only():
    assert draft_price([], []) is None and draft_price([drafted(0, 5.0)], [drafted(0, 5.0)]) is None
    assert draft_price([drafted(1, 3.0)], []) == DraftPrice(3.0, 3.0)
    assert draft_price([drafted(0, 1.0)], [drafted(4, 8.0)]) == DraftPrice(2.0, 2.0)
    assert draft_price([drafted(1, 3.0)], [drafted(4, 2.0)]).further_ms == 0.0, "never a gift"


def test_a_model_with_room_for_few_tokens_is_timed_within_it():
    engine = Engine(tiny_model("gpt2", n_positions=32))
    assert engine.loaded.context_length == 32
    assert decode(engine, engine.encode("the hen", raw=True), proposer="recycling", max_new_tokens=4, budget="auto").token_ids
