"""What a visitor may ask for: every check that needs no model, done before any work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spork.config import SporkConfig, shortened
from .refusal import Refusal
from .settings import Settings


@dataclass(frozen=True)
class RunRequest:
    """A prompt and a checked config, for a model this host offers."""

    prompt: str
    config: SporkConfig
    model: str


def checked_request(
    settings: Settings, models: tuple[str, ...], prompt: Any, model: Any, values: dict[str, Any]
) -> RunRequest:
    """Build a request from untrusted values. Raises SporkError with a message for the visitor."""
    if not isinstance(prompt, str):
        raise Refusal("prompt_type")
    if not prompt.strip():
        raise Refusal("empty_prompt")
    if len(prompt) > settings.max_prompt_chars:
        raise Refusal("long_prompt", length=len(prompt), limit=settings.max_prompt_chars)
    if model not in models:
        raise Refusal("unknown_model", value=shortened(model), allowed=", ".join(models))
    config = SporkConfig.checked(**values)
    if config.max_new_tokens > settings.max_new_tokens:
        raise Refusal("many_tokens", value=config.max_new_tokens, limit=settings.max_new_tokens)
    return RunRequest(prompt, config, model)
