"""Text from elsewhere, made fit to be shown: exceptions in one line, and no control characters in a terminal."""

from __future__ import annotations

import re
import sys

#: C0, DEL and C1, but tab and newline: a terminal would obey them.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def one_line(error: BaseException, limit: int = 200) -> str:
    """The first line of an exception's message that says anything, or the exception's name."""
    lines = (" ".join(line.split()) for line in str(error).splitlines())
    text = next((line for line in lines if line), type(error).__name__)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def for_terminal(text: str) -> str:
    """What a model or a file wrote, as standard output may show it.

    Where a terminal reads it, control characters are written out, since they could move its cursor
    or retitle it; a file or a pipe gets the text as it is.
    """
    if not sys.stdout.isatty():
        return text
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
