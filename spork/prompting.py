"""From what the person typed to the token ids the model starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import ConfigError
from .wording import one_line

if TYPE_CHECKING:
    from .models import LoadedModel


def encode_prompt(loaded: "LoadedModel", prompt: str, raw: bool) -> list[int]:
    """Token ids of `prompt`, at least one.

    One user message in the model's chat template, with the assistant's turn opened; where the
    tokenizer has no template, or `raw` is set, the plain text with the tokenizer's usual special
    tokens. Text that spells a special token is encoded as transformers encodes it.

    Raises ConfigError when nothing is left to start from, or the template refuses the message.
    """
    tokenizer = loaded.tokenizer
    ids = tokenizer(prompt)["input_ids"] if raw or not tokenizer.chat_template else _chat_ids(loaded, prompt)
    ids = [int(token) for token in ids]
    if not ids and tokenizer.bos_token_id is not None:
        ids = [int(tokenizer.bos_token_id)]
    if not ids:
        raise ConfigError("the prompt is empty, and this model has no start token; allowed: at least one character")
    return ids


def _chat_ids(loaded: "LoadedModel", prompt: str) -> list[int]:
    # The template writes its own start token, and transformers adds none when it encodes it.
    messages = [{"role": "user", "content": prompt}]
    try:
        ids: Any = loaded.tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)
    except Exception as error:  # a template is a program of the model's maker, and fails as it likes
        raise ConfigError(
            f"the chat template of {loaded.name} refuses this prompt: {one_line(error)}; allowed: raw, without the template"
        ) from None
    return ids["input_ids"]
