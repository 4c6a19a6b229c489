"""The words of gradio's own controls, as translations that the browser picks from."""

from __future__ import annotations

import gradio as gr

from .words import LANGUAGES

#: Beside gradio's own keys ours need a name space.
_PREFIX = "spork_"

#: Browsers say which Chinese; one table serves them all.
_REGIONS = {"zh": ("zh", "zh-CN", "zh-TW")}


def translations() -> gr.I18n:
    tables = {}
    for language, words in LANGUAGES.items():
        table = {f"{_PREFIX}{key}": text for key, text in words.LABELS.items()}
        tables |= dict.fromkeys(_REGIONS.get(language, (language,)), table)
    return gr.I18n(**tables)


_i18n = gr.I18n()


def label(key: str) -> gr.I18nData | str:
    """One of LABELS, to be translated in the browser."""
    return _i18n(f"{_PREFIX}{key}")
