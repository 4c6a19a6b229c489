"""The functions behind the page and the endpoint: one runner, one set of checks, two shapes.

`generate` is for programs (JSON messages); `page_run` feeds the view (frames as text). Both go
through `_run`.
"""

from __future__ import annotations

import asyncio
import html
import json
import secrets
from dataclasses import asdict
from typing import Any, AsyncIterator, Callable, Iterable, Iterator

import gradio as gr

from spork.errors import SporkError
from spork.events import RunFinished, to_dict

from .desk import ModelDesk
from .frames import batch_frame, read_upload, trace_frame
from .live import Batch, stream_run
from .requests import checked_request
from .run_table import RunTable
from .settings import Settings
from .text import PAGE

#: Seconds Stop gives a run to end by itself, with its figures, before it is cut off.
STOP_PATIENCE_S = 2.0


class Endpoints:
    """Bound to one desk and one host's settings."""

    def __init__(self, settings: Settings, desk: ModelDesk):
        self._settings = settings
        self._desk = desk
        self.runs = RunTable()

    def _run(self, run: str, prompt: Any, model: Any, local: bool = False, **values: Any) -> Iterator[Batch]:
        """Check, then stream. Raises SporkError."""
        request = checked_request(self._settings, self._desk.names, prompt, model, values)
        cancel = self.runs.add(run)
        try:
            yield from stream_run(self._desk, request, cancel, local)
        finally:
            self.runs.remove(run)

    def generate_endpoint(self) -> Callable[..., Iterator[dict[str, Any]]]:
        """The function behind /generate; made here because one default depends on the host's limit."""
        new_tokens = self._settings.first_new_tokens

        def generate(
            prompt: str,
            k: int = 4,
            m: int = 3,
            tau: float = 1.0,
            proposer: str = "recycling",
            verifier: str = "exact",
            max_new_tokens: int = new_tokens,
            temperature: float = 0.0,
            seed: int = 0,
        ) -> Iterator[dict[str, Any]]:
            """Decode a prompt; streams {"run": id, "events": [...]}.

            The last message also holds text, token_ids, finish_reason and metrics.
            """
            run = secrets.token_urlsafe(12)
            batches = self._run(
                run, prompt, self._desk.default, k=k, m=m, tau=tau, proposer=proposer, verifier=verifier,
                max_new_tokens=max_new_tokens, temperature=temperature, seed=seed,
            )  # fmt: skip
            try:
                yield from _apart(run, batches)
            except SporkError as error:
                raise gr.Error(str(error), title=PAGE["error_title"], print_exception=False) from None
            finally:
                batches.close()

        return generate

    def page_run(
        self, prompt: str, model: str, k: float, m: float, tau: float, proposer: str, verifier: str,
        max_new_tokens: float, temperature: float, seed: float, early_score: str, layers: float, budget: str,
        request: gr.Request,
    ) -> Iterator[str]:  # fmt: skip
        """The page's own run: frames for the view."""
        run = secrets.token_urlsafe(12)
        batches = self._run(
            run, prompt, model, _is_local(request), k=k, m=m, tau=tau, proposer=proposer, verifier=verifier,
            max_new_tokens=max_new_tokens, temperature=temperature, seed=seed,
            early_score=early_score, layers=layers or None, budget=budget,
        )  # fmt: skip
        try:
            for batch in batches:
                yield batch_frame(run, batch)
        except SporkError as error:
            raise _shown(error) from None
        finally:
            batches.close()

    def stop(self, run: str) -> None:
        """End a run within a round; returns when it has ended, or when patience has."""
        self.runs.stop(str(run), STOP_PATIENCE_S)

    def load_trace(self, path: str) -> str:
        """Check an uploaded trace and hand it to the view."""
        try:
            return trace_frame(secrets.token_urlsafe(12), "loaded", read_upload(path))
        except SporkError as error:
            raise _shown(error) from None

    async def model_status(self) -> AsyncIterator[str]:
        """How the default model's load goes; ends when it is there or has failed.

        Asynchronous, so that any number of open tabs takes no thread.
        """
        name, last = self._desk.default, None
        while True:
            status = self._desk.status(name)
            if status != last:
                yield json.dumps(asdict(status))
                last = status
            if status.state in ("ready", "failed"):
                return
            await asyncio.sleep(0.5)


def _is_local(request: gr.Request) -> bool:
    """Whether the visitor's browser runs on this machine, and was not forwarded by a proxy on it."""
    host = request.client.host if request.client else ""
    return host in ("127.0.0.1", "::1") and "x-forwarded-for" not in request.headers


def _apart(run: str, batches: Iterable[Batch]) -> Iterator[dict[str, Any]]:
    """Messages with an empty one between any two that hold events.

    Gradio sends a client only what differs from the message before, and counts deletions wrongly
    where lists inside lists got shorter: the client then fails. From and to an empty list nothing
    inside is compared.
    """
    full = False
    for batch in batches:
        if full and batch.events:
            yield {"run": run, "events": []}
        full = bool(batch.events)
        yield {"run": run, "events": [to_dict(event) for event in batch.events]} | _summary(batch.events)


def _summary(events: list[Any]) -> dict[str, Any]:
    """What the last message adds."""
    if not events or not isinstance(events[-1], RunFinished):
        return {}
    last = to_dict(events[-1])
    return {
        "text": last["text"],
        "token_ids": last["token_ids"],
        "finish_reason": last["reason"],
        "metrics": last["metrics"],
    }


def _shown(error: SporkError) -> gr.Error:
    """The error for the page, which renders messages as HTML and must not render a visitor's."""
    return gr.Error(html.escape(str(error), quote=False), title=PAGE["error_title"], print_exception=False)
