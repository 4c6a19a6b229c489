"""The loop's contract: events, cancelling, errors that poison nothing, one run at a time."""

from __future__ import annotations

import threading

import pytest

from spork.config import SporkConfig
from spork.control import Control
from spork.engine import Engine
from spork.errors import ConfigError, SporkError
from spork.events import Round, RunFinished, RunStarted, dumps
from spork.proposers import PROPOSERS
from tests.spork.decode import PROMPT, decode, rounds
from tests.tiny import complete_engine, tiny_model, tiny_tokenizer


@pytest.fixture(scope="module")
def engine() -> Engine:
    return complete_engine(tiny_model("llama"))


@pytest.mark.parametrize("proposer", PROPOSERS)
@pytest.mark.parametrize("verifier", ["exact", "first-token"])
def test_events_add_up(engine, proposer, verifier):
    config = SporkConfig(k=3, m=3, tau=0.5, proposer=proposer, verifier=verifier, max_new_tokens=60)
    started, *middle, finished = engine.run(PROMPT, config, raw=True)
    assert isinstance(started, RunStarted) and isinstance(finished, RunFinished)
    assert all(isinstance(e, Round) for e in middle)
    assert [r.index for r in middle] == list(range(len(middle)))
    assert [t for r in middle for t in r.committed] == finished.token_ids
    assert "".join(r.text for r in middle) == finished.text
    clocks = [r.clock_s for r in middle]
    assert clocks == sorted(clocks)
    for r in middle:
        dumps(r)
        assert r.text == "".join(r.pieces)
        assert len(r.forks) <= 3 and all(len(f.nodes) <= 4 for f in r.forks)
        by_id = {n.id: n for n in r.nodes}
        on_text = [n.token_id for n in sorted(by_id.values(), key=lambda n: n.depth) if n.status != "rejected"]
        assert on_text == r.committed
        assert (r.decision == "accepted") == (r.chosen is not None) == ("accepted" in r.statuses)
        if r.decision == "fallback":
            assert r.statuses == ["fallback"]
        assert all(0 <= n.score <= 1 for n in r.nodes if n.score is not None)
        assert set(r.ms) == {"propose", "verify", "select", "other"}


def test_a_cancelled_run_ends_within_a_round_and_keeps_its_text(engine):
    cancel = threading.Event()
    events = engine.run(PROMPT, SporkConfig(max_new_tokens=200), raw=True, cancel=cancel)
    next(events)
    first = next(events)
    cancel.set()
    finished = next(events)
    assert finished.reason == "cancelled"
    assert finished.token_ids == first.committed
    assert list(events) == []


def test_a_long_prompt_is_cancelled_between_its_chunks(engine, monkeypatch):
    monkeypatch.setattr("spork.runner.PREFILL_CHUNK", 4)
    cancel = threading.Event()
    passes = []
    plain = engine.runner.forward

    def cancels(*args, **kwargs):
        passes.append(1)
        cancel.set()
        return plain(*args, **kwargs)

    monkeypatch.setattr(engine.runner, "forward", cancels)
    *_, finished = engine.run(PROMPT * 4, SporkConfig(max_new_tokens=5), raw=True, cancel=cancel)
    assert (finished.reason, finished.token_ids, len(passes)) == ("cancelled", [], 1)


def test_a_second_run_at_once_is_refused_and_the_first_goes_on(engine):
    first = engine.run(PROMPT, SporkConfig(max_new_tokens=10), raw=True)
    next(first)
    with pytest.raises(SporkError, match="busy"):
        list(engine.run(PROMPT, SporkConfig(max_new_tokens=10), raw=True))
    assert list(first)[-1].reason in ("length", "eos")


def test_a_run_left_in_the_middle_frees_the_engine(engine):
    ids = engine.encode(PROMPT, raw=True)
    expected = decode(engine, ids, max_new_tokens=20).token_ids
    abandoned = engine.run(PROMPT, SporkConfig(max_new_tokens=50), raw=True)
    next(abandoned), next(abandoned)
    abandoned.close()
    assert decode(engine, ids, max_new_tokens=20).token_ids == expected


def test_an_error_inside_a_run_is_reported_and_the_next_run_is_whole(engine, monkeypatch):
    ids = engine.encode(PROMPT, raw=True)
    expected = decode(engine, ids, max_new_tokens=20).token_ids
    calls = []
    plain = engine.runner.forward

    def fails_on_the_fourth(*args, **kwargs):
        calls.append(1)
        if len(calls) == 4:
            raise RuntimeError("out of memory\nand more")
        return plain(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(engine.runner, "forward", fails_on_the_fourth)
        finished = decode(engine, ids, max_new_tokens=20)
    assert finished.reason == "error"
    assert finished.message == "RuntimeError: out of memory"
    assert finished.token_ids == expected[: len(finished.token_ids)]
    assert decode(engine, ids, max_new_tokens=20).token_ids == expected


def test_bad_input_is_refused_before_the_first_event(engine):
    for call in (
        lambda: engine.run("", SporkConfig()),
        lambda: engine.run("x" * 5000, SporkConfig()),
        lambda: Engine(engine.loaded).run(PROMPT, SporkConfig(verifier="early-layers")),
    ):
        with pytest.raises(ConfigError):
            call()


def test_the_consumers_time_is_not_on_the_clock(engine, monkeypatch):
    """On a clock of the test's own: a reading takes a millisecond, the consumer an hour an event."""
    now = [0.0]

    def reading() -> float:
        now[0] += 0.001
        return now[0]

    monkeypatch.setattr("spork.clock.time.perf_counter", reading)
    for event in engine.run(PROMPT, SporkConfig(max_new_tokens=20), raw=True):
        now[0] += 3600
    assert 0 < event.metrics["decode_s"] < 1


def test_the_reference_is_timed_and_marked_unpaired(engine):
    engine.warm_up()
    started, *_, finished = engine.run(PROMPT, SporkConfig(max_new_tokens=20), raw=True)
    assert started.reference["paired"] is False
    assert finished.metrics["speedup"] == pytest.approx(
        finished.metrics["tokens_per_s"] / started.reference["tokens_per_s"]
    )
    assert finished.metrics["speedup_paired"] is False


def test_drafting_is_timed_at_load_for_every_proposer_that_does_not_run_the_model(engine, monkeypatch):
    """And a controller starts from what was timed, not from nothing."""
    engine.warm_up()
    assert {"recycling", "lookup", "auto"} <= set(engine.draft_prices) <= set(PROPOSERS) - {"full-model"}
    assert all(price.first_ms >= 0 and price.further_ms >= 0 for price in engine.draft_prices.values())
    given = {}
    monkeypatch.setattr("spork.engine.Control", lambda prices, drafting, **how: given.update(drafting=drafting) or Control(prices, drafting, **how))
    decode(engine, engine.encode(PROMPT, raw=True), proposer="recycling", max_new_tokens=4, budget="auto")
    assert given["drafting"] == engine.draft_prices["recycling"]


def test_a_run_depends_on_nothing_that_ran_before_it(engine):
    ids = engine.encode(PROMPT, raw=True)
    fresh = Engine(tiny_model("llama"))
    settings = dict(proposer="recycling", verifier="first-token", tau=0.2, max_new_tokens=40)
    decode(engine, engine.encode("something else entirely", raw=True), **settings)
    assert decode(engine, ids, **settings).token_ids == decode(fresh, ids, **settings).token_ids


def test_full_model_spends_one_pass_per_depth_and_shares_the_prefix(engine, monkeypatch):
    ids = engine.encode(PROMPT, raw=True)
    rows = []
    plain = engine.runner.forward
    monkeypatch.setattr(
        engine.runner, "forward", lambda tokens, **kw: rows.append(len(tokens)) or plain(tokens, **kw)
    )
    rounds(engine, ids, proposer="full-model", verifier="first-token", tau=1.0, k=4, m=3, max_new_tokens=1)
    assert rows == [len(ids) - 1, 1], "with room for one token, the root's pass is enough"
    rows.clear()
    rounds(engine, ids, proposer="full-model", verifier="first-token", tau=0.0, k=4, m=3, max_new_tokens=4)
    assert rows == [len(ids) - 1, 1, 4, 4, 4]
    rows.clear()
    rounds(engine, ids, proposer="full-model", verifier="exact", k=4, m=3, max_new_tokens=5)
    assert rows[:6] == [len(ids) - 1, 1, 4, 4, 4, 4], "verification runs only what proposing did not"


def test_models_without_chat_template_pad_or_bos_work():
    tokenizer = tiny_tokenizer(chat_template=False, bos=False)
    engine = Engine(tiny_model("gpt2", tokenizer=tokenizer))
    assert decode(engine, engine.encode(PROMPT, raw=False), max_new_tokens=5).reason in ("length", "eos")
