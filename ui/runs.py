"""Check what is asked for, then stream the job: the one way to the engine for page and programs."""

from __future__ import annotations

from typing import Any, Iterator, Sequence

from spork.sweep import MAX_PROMPTS

from .desk import ModelDesk
from .jobs import Job, LiveRun, Race, SweepRun
from .live import Batch, stream_run
from .refusal import Refusal
from .requests import checked_request
from .run_table import RunTable
from .settings import Settings

#: New tokens a run of a sweep may write: many short runs say more than few long ones.
SWEEP_TOKENS = 64


class Runs:
    """Bound to one desk and one host's settings. Every method raises SporkError, before any work."""

    def __init__(self, settings: Settings, desk: ModelDesk):
        self.settings, self.desk = settings, desk
        self.table = RunTable()

    def live(self, run: str, prompt: Any, model: Any, local: bool = False, **values: Any) -> Iterator[Batch]:
        return self._stream(run, lambda: LiveRun(self._checked(prompt, model, values)), local)

    def race(self, run: str, prompt: Any, model: Any, local: bool = False, **values: Any) -> Iterator[Batch]:
        return self._stream(run, lambda: Race(self._checked(prompt, model, values)), local)

    def sweep(self, run: str, form: Any, model: Any, local: bool = False, **values: Any) -> Iterator[Batch]:
        """`form` holds prompts, ks, ms, taus, new_tokens and seconds, as the page's form gives them."""
        return self._stream(run, lambda: self._sweep(form, model, values), local)

    def _stream(self, run: str, job: Any, local: bool) -> Iterator[Batch]:
        checked: Job = job()
        cancel = self.table.add(run)
        try:
            yield from stream_run(self.desk, checked, cancel, local)
        finally:
            self.table.remove(run)

    def _checked(self, prompt: Any, model: Any, values: dict[str, Any]) -> Any:
        return checked_request(self.settings, self.desk.names, prompt, model, values)

    def _sweep(self, form: Any, model: Any, values: dict[str, Any]) -> SweepRun:
        if not isinstance(form, dict):
            raise Refusal("sweep_form")
        seconds = _number(form.get("seconds"))
        if not 0 < seconds <= self.settings.max_sweep_seconds:
            raise Refusal("sweep_seconds", value=f"{seconds:g}", limit=self.settings.max_sweep_seconds)
        new_tokens = _number(form.get("new_tokens"))
        if not 1 <= new_tokens <= min(SWEEP_TOKENS, self.settings.max_new_tokens):
            raise Refusal("sweep_tokens", value=f"{new_tokens:g}", limit=min(SWEEP_TOKENS, self.settings.max_new_tokens))
        prompts = [text for text in _list(form.get("prompts"), 10_000) if not isinstance(text, str) or text.strip()]
        if not prompts:
            raise Refusal("empty_prompt")
        if len(prompts) > MAX_PROMPTS:
            raise Refusal("sweep_many", value=len(prompts), limit=MAX_PROMPTS)
        values = values | {"max_new_tokens": new_tokens}
        requests = tuple(self._checked(prompt, model, values) for prompt in prompts)
        ks, ms = (tuple(int(_number(v)) for v in _list(form.get(name))) for name in ("ks", "ms"))
        return SweepRun(requests, ks, ms, tuple(_number(v) for v in _list(form.get("taus"))), seconds)


def _list(value: Any, most: int = 64) -> Sequence[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise Refusal("sweep_form")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e6:
        raise Refusal("sweep_form")
    return float(value)
