"""Running the engine beside the page: its own thread, coalesced batches, and a prompt stop.

`stream_run` is a generator gradio iterates. It yields at once, so that Stop and a closed tab find
a generator that has started (gradio does not close one that has not). Closing it, by Stop, by a
closed tab or by an error, cancels the run: the engine ends within a round and goes back to the
desk from its own thread, so the next run never meets a device still in use.
"""

from __future__ import annotations

import contextvars
import logging
import os
import queue
import threading
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

from spork.errors import SporkError

from .desk import ModelDesk
from .jobs import Job
from .refusal import Refusal

log = logging.getLogger(__name__)

#: A batch goes out at least this often, empty if need be: a closed tab is noticed at a yield.
HEARTBEAT_S = 1.0


@dataclass(frozen=True)
class Pace:
    """How often the page is told (`hz`) and which share of its time it may spend drawing (`duty`)."""

    hz: float
    duty: float


def page_pace(device: str, local: bool, cores: int | None = None) -> Pace:
    """A slower page where it would take the engine's own processors.

    `local`: the browser runs on this machine, as on a laptop in a class room. Then on a CPU with
    few cores every millisecond it draws stops a thread the forward pass waits for. For a visitor
    from elsewhere only the sending costs, and a GPU does not wait for the page.
    """
    cores = cores or os.cpu_count() or 1
    if device.startswith("cpu") and cores <= 4:
        return Pace(hz=1.0, duty=0.015) if local else Pace(hz=4.0, duty=0.50)
    return Pace(hz=14.0, duty=0.75)


@dataclass
class Batch:
    """What happened since the last one. `phase` is waiting, loading or running."""

    phase: str
    note: str = ""
    fraction: float | None = None
    events: list[Any] = field(default_factory=list)
    pace: Pace | None = None


def stream_run(
    desk: ModelDesk,
    job: Job,
    cancel: threading.Event,
    local: bool = False,
    pace: Callable[[str, bool], Pace] = page_pace,
) -> Iterator[Batch]:
    """Wait for an engine, do the job on it, yield batches of its events. Raises SporkError.

    Setting `cancel` ends the job with a last event of its own; closing the generator sets it.
    """
    try:
        yield Batch("waiting")
        engine = yield from _borrow(desk, job.model, cancel)
        if engine is None:
            return
        lent = _Loan(desk, job.model, engine)
        try:
            begin = job.prepare(engine)
            chosen = pace(str(engine.loaded.device), local)
            yield Batch("running", pace=chosen)
        except BaseException:
            lent.end()
            raise
        events = _in_thread(lambda: begin(cancel), lent.end)
        with closing(_coalesced(events, cancel, 1 / chosen.hz)) as batches:
            for batch in batches:
                yield Batch("running", events=batch)
    finally:
        cancel.set()


def _borrow(desk: ModelDesk, model: str, cancel: threading.Event) -> Iterator[Batch]:
    """Yield how the wait goes; return the engine, or None when cancelled first."""
    while not cancel.is_set():
        engine = desk.borrow(model)
        if engine is not None:
            return engine
        status = desk.status(model)
        phase = "loading" if status.state == "loading" else "waiting"
        yield Batch(phase, status.message, status.fraction)
        desk.wait(HEARTBEAT_S)
    return None


class _Loan:
    """Gives an engine back exactly once."""

    def __init__(self, desk: ModelDesk, model: str, engine: Any):
        self._give_back: Callable[[], None] | None = lambda: desk.give_back(model, engine)

    def end(self) -> None:
        give_back, self._give_back = self._give_back, None
        if give_back:
            give_back()


class _Done:
    """The last thing in the queue: how the engine's thread ended."""

    def __init__(self, error: BaseException | None):
        self.error = error


class _Mailbox:
    """Events on their way from the engine's thread. `closed` tells that thread to stop."""

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.closed = threading.Event()
        self.done = threading.Event()


def _in_thread(run: Callable[[], Iterator[Any]], at_end: Callable[[], None]) -> _Mailbox:
    """Iterate `run()` in a thread that carries this context, as quota tokens live in it."""
    box = _Mailbox()

    def work() -> None:
        error: BaseException | None = None
        try:
            events = run()
            try:
                for event in events:
                    box.queue.put(event)
                    if box.closed.is_set():
                        break
            finally:
                close = getattr(events, "close", None)
                if close:
                    close()
        except BaseException as caught:
            error = caught
        finally:
            at_end()
            box.queue.put(_Done(error))
            box.done.set()

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name="spork-run", daemon=True).start()
    return box


def _coalesced(box: _Mailbox, cancel: threading.Event, interval: float) -> Iterator[list[Any]]:
    """Everything since the last yield, at most once an interval; [] when nothing came for a while."""
    try:
        while True:
            batch, done = _drain(box.queue)
            if batch or done is None:
                yield batch
            if done is not None:
                _raise_for_user(done.error)
                return
            # The end is not made to wait for the interval.
            box.done.wait(interval)
    finally:
        cancel.set()
        box.closed.set()


def _drain(mail: "queue.SimpleQueue[Any]") -> tuple[list[Any], _Done | None]:
    """Wait for one event at most a heartbeat, then take all that are there."""
    batch: list[Any] = []
    try:
        item = mail.get(timeout=HEARTBEAT_S)
        while True:
            if isinstance(item, _Done):
                return batch, item
            batch.append(item)
            item = mail.get_nowait()
    except queue.Empty:
        return batch, None


def _raise_for_user(error: BaseException | None) -> None:
    if error is None:
        return
    if isinstance(error, SporkError):
        raise error
    log.error("a run failed", exc_info=error)
    raise Refusal("run_failed")
