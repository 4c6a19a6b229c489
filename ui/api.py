"""`/generate`: the engine for programs, with the same checks and the same line as the page."""

from __future__ import annotations

import secrets
from typing import Any, Callable, Iterable, Iterator

import gradio as gr

from spork.config import SporkConfig
from spork.errors import SporkError
from spork.events import RunFinished, to_dict

from .live import Batch
from .runs import Runs


def generate_endpoint(runs: Runs) -> Callable[..., Iterator[dict[str, Any]]]:
    """The function behind /generate; made here because one default depends on the host's limit."""
    new_tokens, usual = runs.settings.first_new_tokens, SporkConfig()

    def generate(
        prompt: str,
        k: int = usual.k,
        m: int = usual.m,
        tau: float = usual.tau,
        proposer: str = usual.proposer,
        verifier: str = usual.verifier,
        max_new_tokens: int = new_tokens,
        temperature: float = usual.temperature,
        seed: int = usual.seed,
    ) -> Iterator[dict[str, Any]]:
        """Decode a prompt; streams {"run": id, "events": [...]}.

        The last message also holds text, token_ids, finish_reason and metrics.
        """
        run = secrets.token_urlsafe(12)
        batches = runs.live(
            run, prompt, runs.desk.default, k=k, m=m, tau=tau, proposer=proposer, verifier=verifier,
            max_new_tokens=max_new_tokens, temperature=temperature, seed=seed,
        )  # fmt: skip
        try:
            yield from apart(run, batches)
        except SporkError as error:
            raise gr.Error(str(error), print_exception=False) from None
        finally:
            batches.close()

    return generate


def apart(run: str, batches: Iterable[Batch]) -> Iterator[dict[str, Any]]:
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
