"""Every word the page shows, a module a language, each with the same keys.

`LABELS` are gradio's own controls and travel as translations, so the browser picks; `MESSAGES`
are what the server says; `VIEW` goes to the page's scripts as JSON. Words in {braces} are filled
in where a string is used. English is complete by definition; a test holds the others to it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from . import chinese, english
from .engine_chinese import ENGINE as ENGINE_CHINESE

LANGUAGES = {"en": english, "zh": chinese}

#: The engine's own lines by language, where they are not English.
ENGINE = {"zh": ENGINE_CHINESE}


def message(key: str, language: str = "en", **values: object) -> str:
    """One of MESSAGES, filled in; English for a language there is none of."""
    return LANGUAGES.get(language, english).MESSAGES[key].format(**values)


def engine_line(line: str, language: str) -> str:
    """A line of the engine's, or of the server's own in English, in another language as far as its words are known; else as it is."""
    if language not in ENGINE:
        return line
    for pattern, words in _lines(language):
        if found := pattern.fullmatch(line):
            values = {name: engine_line(value, language) for name, value in found.groupdict().items()}
            return words.format(**values)
    return line


@lru_cache
def _lines(language: str) -> list[tuple[re.Pattern[str], str]]:
    """What an English line looks like, and its words in a language of ENGINE."""
    own = {words: LANGUAGES[language].MESSAGES[key] for key, words in english.MESSAGES.items()}
    return [(_pattern(line), words) for line, words in (own | ENGINE[language]).items()]


def _pattern(line: str) -> re.Pattern[str]:
    """A line with {names} as a pattern that captures them."""
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(line)), re.DOTALL)


def views() -> dict[str, dict[str, str]]:
    """The scripts' words by language."""
    return {name: module.VIEW for name, module in LANGUAGES.items()}
