"""What a visitor may ask for: every check that needs no model, done before any work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spork.config import SporkConfig
from spork.errors import ConfigError

from .settings import Settings
from .text import PAGE


@dataclass(frozen=True)
class RunRequest:
    """A prompt and a checked config, for a model this host offers."""

    prompt: str
    config: SporkConfig
    model: str


def checked_request(
    settings: Settings, models: tuple[str, ...], prompt: Any, model: Any, values: dict[str, Any]
) -> RunRequest:
    """Build a request from untrusted values. Raises ConfigError with a message for the visitor."""
    if not isinstance(prompt, str):
        raise ConfigError(PAGE["prompt_type"])
    if not prompt.strip():
        raise ConfigError(PAGE["empty_prompt"])
    if len(prompt) > settings.max_prompt_chars:
        raise ConfigError(PAGE["long_prompt"].format(length=len(prompt), limit=settings.max_prompt_chars))
    if model not in models:
        raise ConfigError(PAGE["unknown_model"].format(value=model, allowed=", ".join(models)))
    config = SporkConfig.checked(**values)
    if config.max_new_tokens > settings.max_new_tokens:
        raise ConfigError(
            PAGE["many_tokens"].format(value=config.max_new_tokens, limit=settings.max_new_tokens)
        )
    return RunRequest(prompt, config, model)
