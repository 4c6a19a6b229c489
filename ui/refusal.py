"""What the page itself has to say no to, in the visitor's language."""

from __future__ import annotations

from spork.errors import SporkError

from .words import engine_line, message


class Refusal(SporkError):
    """A message of MESSAGES with its values; as text it is English, as every other SporkError is."""

    def __init__(self, key: str, **values: object):
        super().__init__(message(key, **values))
        self._key, self._values = key, values

    def said(self, language: str) -> str:
        return message(self._key, language, **self._values)


def said(error: SporkError, language: str) -> str:
    """An error in the visitor's language; the engine itself speaks English."""
    return error.said(language) if isinstance(error, Refusal) else engine_line(str(error), language)
