"""Other libraries' exceptions, in the one line a message has room for."""

from __future__ import annotations


def one_line(error: BaseException, limit: int = 200) -> str:
    """The first line of an exception's message that says anything, or the exception's name."""
    lines = (" ".join(line.split()) for line in str(error).splitlines())
    text = next((line for line in lines if line), type(error).__name__)
    return text if len(text) <= limit else text[: limit - 1] + "…"
