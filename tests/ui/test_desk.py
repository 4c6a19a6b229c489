"""The desk: one run at a time has an engine; a model that cannot be had says why."""

import threading
import time

import pytest

from spork.errors import ModelError
from ui import desk as desk_module
from ui.desk import ModelDesk
from ui.settings import Settings

from .fakes import FakeEngine


def eventually(condition, seconds=5.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError("it did not happen in time")


def make(load, **settings):
    return ModelDesk(Settings(**settings), ("a", "b"), load)


def test_an_engine_is_lent_to_one_run_at_a_time():
    desk = make(lambda *_: FakeEngine())
    engine = eventually(lambda: desk.borrow("a"))
    assert desk.borrow("a") is None
    desk.give_back("a", engine)
    assert desk.borrow("a") is engine


def test_status_goes_from_loading_to_ready():
    go = threading.Event()

    def load(name, settings, progress):
        progress("half way", 0.5)
        go.wait(5)
        return FakeEngine()

    desk = make(load)
    assert desk.status("a").state == "waiting"
    desk.start("a")
    eventually(lambda: desk.status("a").fraction == 0.5)
    assert desk.status("a").message == "half way"
    go.set()
    status = eventually(lambda: desk.status("a").state == "ready" and desk.status("a"))
    assert (status.device, status.dtype, status.reference) == ("cpu", "float32", 16.0)
    assert desk.status("b").state == "waiting"


def test_more_runs_get_copies_of_their_own():
    desk = make(lambda *_: FakeEngine(), max_runs=2)
    first = eventually(lambda: desk.borrow("a"))
    second = eventually(lambda: desk.borrow("a"))
    assert first is not second
    time.sleep(0.05)
    assert desk.borrow("a") is None


def test_a_model_that_cannot_be_had_says_why_and_is_tried_again_later(monkeypatch):
    tries = []

    def load(*_):
        tries.append(1)
        raise ModelError("no network and nothing cached")

    desk = make(load)
    desk.start("a")
    eventually(lambda: desk.status("a").state == "failed")
    with pytest.raises(ModelError, match="nothing cached"):
        desk.borrow("a")
    assert len(tries) == 1
    monkeypatch.setattr(desk_module, "RETRY_S", 0.0)
    assert desk.borrow("a") is None
    eventually(lambda: len(tries) == 2)


def test_an_unexpected_failure_does_not_leave_anyone_waiting():
    def load(*_):
        raise ZeroDivisionError("secret detail")

    desk = make(load)
    desk.start("a")
    status = eventually(lambda: desk.status("a").state == "failed" and desk.status("a"))
    assert "ZeroDivisionError" in status.message and "secret" not in status.message
