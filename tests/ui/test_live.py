"""Running beside the page: coalescing, a prompt stop, and an engine that always comes home."""

import contextvars
import threading
import time

import pytest

from spork.config import SporkConfig
from spork.errors import SporkError
from spork.events import RunFinished, RunStarted
from ui.desk import ModelDesk
from ui.live import Pace, page_pace, stream_run
from ui.jobs import LiveRun
from ui.requests import RunRequest
from ui.run_table import RunTable
from ui.settings import Settings

from .fakes import FakeEngine
from .test_desk import eventually

JOB = LiveRun(RunRequest("Hi", SporkConfig(), "a"))


def desk_with(engine):
    return ModelDesk(Settings(), ("a",), lambda *_: engine)


def stream(engine, cancel=None, hz=50.0, desk=None):
    return stream_run(desk or desk_with(engine), JOB, cancel or threading.Event(), pace=lambda *_: Pace(hz, 0.1))


def events_of(batches):
    return [event for batch in batches for event in batch.events]


def test_every_event_arrives_in_order():
    events = events_of(stream(FakeEngine(rounds=7)))
    assert isinstance(events[0], RunStarted) and isinstance(events[-1], RunFinished)
    assert [event.index for event in events[1:-1]] == list(range(7))


def test_it_yields_before_the_engine_is_asked():
    engine = FakeEngine()
    batches = stream(engine)
    assert next(batches).events == []
    batches.close()
    assert engine.made == 0


def test_events_are_coalesced():
    batches = [batch for batch in stream(FakeEngine(rounds=60, pause=0.005), hz=10.0) if batch.events]
    assert len(batches) <= 8
    assert len(events_of(batches)) == 62


def test_closing_stops_the_engine_within_a_round_and_frees_it():
    engine = FakeEngine(rounds=1000, pause=0.02)
    desk = desk_with(engine)
    cancel = threading.Event()
    batches = stream(engine, cancel, desk=desk)
    while not next(batches).events:
        pass
    made = engine.made
    batches.close()
    assert engine.closed.wait(2) and cancel.is_set()
    assert engine.made <= made + 3
    assert eventually(lambda: desk.borrow("a")) is engine


def test_cancel_lets_the_run_end_with_its_own_figures():
    engine = FakeEngine(rounds=1000, pause=0.01)
    cancel = threading.Event()
    events = []
    for batch in stream(engine, cancel):
        events += batch.events
        if len(events) > 3:
            cancel.set()
    assert events[-1].reason == "cancelled"


def test_a_failure_in_the_engine_is_told_without_its_details_and_the_next_run_works():
    engine = FakeEngine(rounds=5, fail_at=2)
    desk = desk_with(engine)
    with pytest.raises(SporkError, match="internal error"):
        events_of(stream(engine, desk=desk))
    engine.fail_at = None
    assert isinstance(events_of(stream(engine, desk=desk))[-1], RunFinished)


def test_what_the_engine_refuses_frees_it():
    engine = FakeEngine(refuse="no such layer")
    desk = desk_with(engine)
    with pytest.raises(SporkError, match="no such layer"):
        events_of(stream(engine, desk=desk))
    assert desk.borrow("a") is engine


def test_cancelled_while_it_waits_for_the_model():
    never = threading.Event()
    desk = ModelDesk(Settings(), ("a",), lambda *_: never.wait(20))
    cancel = threading.Event()
    batches = stream(None, cancel, desk=desk)
    phases = [next(batches).phase, next(batches).phase]
    cancel.set()
    assert list(batches) == [] and phases == ["waiting", "loading"]
    never.set()


def test_the_engine_runs_in_its_own_thread_with_this_context():
    token = contextvars.ContextVar("token", default=None)
    token.set("mine")
    seen = []

    class Looking(FakeEngine):
        def run(self, *arguments, **more):
            seen.append((token.get(), threading.current_thread()))
            return super().run(*arguments, **more)

    events_of(stream(Looking()))
    assert seen[0][0] == "mine" and seen[0][1] is not threading.current_thread()


def test_the_page_is_slower_where_it_would_take_the_engines_processors():
    here, elsewhere = page_pace("cpu", True, 2), page_pace("cpu", False, 2)
    assert here.hz < elsewhere.hz < page_pace("cpu", True, 64).hz
    assert here.duty < elsewhere.duty
    assert page_pace("cuda:0", True, 2).hz > 10


def test_stop_reaches_the_run_it_names_and_no_other():
    table = RunTable()
    mine, other = table.add("mine"), table.add("other")
    threading.Timer(0.05, table.remove, ["mine"]).start()
    began = time.monotonic()
    assert table.stop("mine", 5)
    assert time.monotonic() - began < 2
    assert mine.is_set() and not other.is_set()
    assert table.stop("unknown", 5)
    assert not table.stop("other", 0.01)
    assert len(table) == 1
