"""The functions behind the page's own buttons: they stream frames for its views."""

from __future__ import annotations

import asyncio
import html
import json
import secrets
from dataclasses import asdict
from typing import Any, AsyncIterator, Callable, Iterator, Optional

import gradio as gr

from spork.errors import SporkError
from spork.events import Round, parse_trace
from spork.what_if import decisions

from .controls import KNOB_NAMES
from .frames import batch_frame, race_frame, read_upload, sweep_frame, trace_frame
from .live import Batch
from .refusal import said
from .runs import Runs
from .visitor import is_local, language_of
from .words import engine_line

#: Seconds Stop gives a run to end by itself, with its figures, before it is cut off.
STOP_PATIENCE_S = 2.0


class Endpoints:
    """Each takes what the page's controls hold and yields frames as text."""

    def __init__(self, runs: Runs):
        self._runs = runs

    def page_run(self, request: gr.Request, prompt: str, model: str, *knobs: Any) -> Iterator[str]:
        """One run, for the live view."""
        run = secrets.token_urlsafe(12)
        yield from self._frames(run, self._runs.live(run, prompt, model, is_local(request), **_values(knobs)), batch_frame, request)

    def page_race(self, request: gr.Request, prompt: str, model: str, *knobs: Any) -> Iterator[str]:
        """Greedy, SPORK, greedy: for the race view."""
        run = secrets.token_urlsafe(12)
        yield from self._frames(run, self._runs.race(run, prompt, model, is_local(request), **_values(knobs)), race_frame, request)

    def page_sweep(self, request: gr.Request, form: str, model: str, *knobs: Any) -> Iterator[str]:
        """K x M x tau on the visitor's prompts: for the tune view. `form` is JSON text."""
        run = secrets.token_urlsafe(12)
        yield from self._frames(run, self._runs.sweep(run, _json(form), model, is_local(request), **_values(knobs)), sweep_frame, request)

    def _frames(self, run: str, batches: Iterator[Batch], frame: Callable[[str, Batch], str], request: gr.Request) -> Iterator[str]:
        try:
            for batch in batches:
                yield frame(run, batch)
        except SporkError as error:
            raise _shown(error, language_of(request)) from None
        finally:
            batches.close()

    def stop(self, run: str) -> None:
        """End a run within a round; returns when it has ended, or when patience has."""
        self._runs.table.stop(str(run), STOP_PATIENCE_S)

    def load_trace(self, request: gr.Request, path: str) -> str:
        """Check an uploaded trace and hand it to the view."""
        try:
            return trace_frame(secrets.token_urlsafe(12), "loaded", read_upload(path))
        except SporkError as error:
            raise _shown(error, language_of(request)) from None

    async def model_status(self, request: gr.Request) -> AsyncIterator[str]:
        """How the default model's load goes; ends when it is there or has failed.

        Asynchronous, so that any number of open tabs takes no thread.
        """
        desk, last = self._runs.desk, None
        while True:
            status = desk.status(desk.default)
            if status != last:
                yield json.dumps(asdict(status) | {"message": engine_line(status.message, language_of(request))})
                last = status
            if status.state in ("ready", "failed"):
                return
            await asyncio.sleep(0.5)


def what_if(trace: str, request: Optional[gr.Request] = None) -> dict[str, Any]:
    """For every round of a trace (its text), what each tau would decide, and how many of its nodes, the
    first ones, were drafted; {"error": words} for a bad one."""
    try:
        events = parse_trace(str(trace))
        steps = [[asdict(step) for step in steps] for steps in decisions(events)]
        return {"rounds": steps, "drafted": [len(event.drafted) for event in events if isinstance(event, Round)]}
    except SporkError as error:
        return {"error": said(error, language_of(request) if request else "en")}


def _values(knobs: tuple[Any, ...]) -> dict[str, Any]:
    """The controls' values by name. Layers stand for early-layers only, and none for the lens's own choice."""
    values = dict(zip(KNOB_NAMES, knobs, strict=True))
    layers = values["layers"] if values["verifier"] == "early-layers" else None
    return values | {"layers": layers or None}


def _json(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def _shown(error: SporkError, language: str) -> gr.Error:
    """The error for the page, which renders messages as HTML and must not render a visitor's."""
    words = html.escape(said(error, language), quote=False)
    return gr.Error(words, print_exception=False)
