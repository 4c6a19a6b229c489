"""The paired run: alternation, parity, and where two texts part."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spork.baseline import PairedRun, parity
from spork.config import SporkConfig
from spork.engine import Engine
from spork.errors import ConfigError
from tests.spork.decode import PROMPT, decode
from tests.tiny import tiny_model


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(tiny_model("llama"))


def test_plain_runs_stand_before_and_after_ours(engine, monkeypatch):
    order = []
    run = engine.run_ids

    def watched(ids, config, **options):
        order.append((options.get("plain", False), config.max_new_tokens))
        return run(ids, config, **options)

    monkeypatch.setattr(engine, "run_ids", watched)
    started, *_, finished = PairedRun(engine, PROMPT, SporkConfig(max_new_tokens=30), raw=True).events()
    assert order == [(True, 8), (False, 8), (True, 30), (False, 30), (True, 30)]
    assert started.reference["paired"] is True
    m = finished.metrics
    assert m["speedup_paired"] is True
    assert m["speedup"] == pytest.approx(m["tokens_per_s"] / m["greedy_tokens_per_s"])
    assert m["break_even"] == pytest.approx(m["tokens_per_round"] / m["speedup"])
    assert m["parity"] == {"identical": True, "first_difference": None, "logit_gap": None}


def test_sampling_is_paired_with_plain_sampling_of_the_same_seed(engine):
    config = SporkConfig(max_new_tokens=30, temperature=1.0, seed=4)
    *_, finished = PairedRun(engine, PROMPT, config, raw=True).events()
    assert finished.metrics["parity"]["identical"]


def test_a_text_that_differs_says_where_and_by_how_much(engine):
    ids = engine.encode(PROMPT, raw=True)
    config = SporkConfig(proposer="full-model", verifier="first-token", tau=0.0, k=8, m=0, max_new_tokens=12)
    plain = decode(engine, ids, max_new_tokens=12).token_ids
    other = [*plain[:5], (plain[5] + 1) % 100, *plain[6:]]
    result = parity(engine, ids, config, other, plain)
    assert result["identical"] is False
    assert result["first_difference"] == 5
    assert result["logit_gap"] > 0
    backwards = parity(engine, ids, replace(config), [*plain[:5], plain[5]], plain)
    assert backwards == {"identical": False, "first_difference": 6, "logit_gap": None}


def test_no_tokens_make_no_speedup(engine):
    *_, finished = PairedRun(engine, PROMPT, SporkConfig(max_new_tokens=0), raw=True).events()
    assert finished.metrics["speedup"] is None
    assert finished.metrics["parity"]["identical"] is True


def test_bad_input_is_refused_before_any_work(engine):
    with pytest.raises(ConfigError):
        PairedRun(engine, " ", SporkConfig())
