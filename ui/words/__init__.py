"""Every word the page shows, a module a language, each with the same keys.

`LABELS` are gradio's own controls and travel as translations, so the browser picks; `MESSAGES`
are what the server says; `VIEW` goes to the page's scripts as JSON. Words in {braces} are filled
in where a string is used. English is complete by definition; a test holds the others to it.
"""

from __future__ import annotations

from . import chinese, english

LANGUAGES = {"en": english, "zh": chinese}


def message(key: str, language: str = "en", **values: object) -> str:
    """One of MESSAGES, filled in; English for a language there is none of."""
    return LANGUAGES.get(language, english).MESSAGES[key].format(**values)


def views() -> dict[str, dict[str, str]]:
    """The scripts' words by language."""
    return {name: module.VIEW for name, module in LANGUAGES.items()}
