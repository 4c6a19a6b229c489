"""The page's own HTML components: static shells that the scripts in assets/js fill.

The templates are static on purpose. A template that mentions the value is compiled anew on every
update, and would run whatever a model wrote into it; the scripts write text with `textContent`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import gradio as gr
import plotly

from spork.proposers import PROPOSERS
from spork.verifiers import VERIFIERS

from .words import views

ASSETS = Path(__file__).resolve().parent.parent / "assets"
PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"

#: Scripts of each component, in the order they need each other; each defines one constant.
_WORDS = ("shared/format",)
_DRAWING = (*_WORDS, "shared/store", "shared/pacing", "shared/plotly", "shared/geometry", "shared/figure", "shared/overlay", "shared/tree", "shared/run_notes")
_CARD = ("shared/save", "shared/card", "shared/measured")
SCRIPTS: dict[str, tuple[str, ...]] = {
    "masthead": (*_WORDS, "page/busy", "page/tabs", "page/links", "page/masthead"),
    "notes": (*_WORDS, "shared/run_notes", "page/notes"),
    "view": (
        *_DRAWING, *_CARD, "live/inspector", "live/text", "live/gauges", "shared/bars", "live/charts", "live/strip", "live/transport",
        "live/exports", "live/kept", "live/view",
    ),
    "race": (*_WORDS, "shared/store", "shared/run_notes", *_CARD, "race/lanes", "race/clock", "race/verdict", "race/race"),
    "tune": (*_WORDS, "shared/run_notes", *_CARD, "tune/form", "tune/heatmap", "tune/table_file", "shared/steps", "tune/what_if", "tune/tune"),
    "learn": (*_DRAWING, "shared/measured", "shared/bars", "shared/steps", "learn/arithmetic", "learn/question", "learn/chapters", "learn/learn"),
}  # fmt: skip


class _Scripted(gr.HTML):
    """A container whose content a script builds; the value travels as JSON text."""

    def __init__(self, name: str, facts: dict[str, Any] | None = None, value: str | None = None, **more: Any):
        super().__init__(
            value=value,
            html_template=f'<div class="spork-{name}"></div>',
            js_on_load=script(SCRIPTS[name], facts or {}),
            apply_default_css=False,
            elem_id=f"spork-{name}",
            **more,
        )

    def api_info(self) -> dict[str, Any]:
        return {"type": "string"}


class LiveView(_Scripted):
    """Text, gauges, tree and rounds. Its value is a frame (see frames.py)."""

    def __init__(self, value: str | None):
        super().__init__("view", {"plotly": str(PLOTLY_JS)} | _parts(), value)


class RaceView(_Scripted):
    """Greedy and SPORK on one clock. Its value is a race frame."""

    def __init__(self) -> None:
        super().__init__("race")


class TuneView(_Scripted):
    """The sweep's form and heatmaps, and another tau on a recorded run. Its value is a sweep frame.

    `what_if(trace text)` is asked for what other values of tau would have decided. The component's
    own event `apply` asks for K, M and tau to be set to `window.sporkApply`.
    """

    def __init__(self, limits: dict[str, Any], what_if: Callable[[str], dict[str, Any]]):
        super().__init__("tune", limits, server_functions=[what_if])


class LearnView(_Scripted):
    """The guided tour over a recorded trace, which is its value as a frame; `answers` is what `what_if` says of it."""

    def __init__(self, value: str | None, answers: dict[str, Any], knobs: dict[str, Any]):
        super().__init__("learn", {"plotly": str(PLOTLY_JS), "start": knobs, "answers": answers} | _parts(), value)


class Masthead(_Scripted):
    """Name, tabs, model line, badge, and switches. Its value is a ModelStatus as JSON.

    `controls` describes what a link may set: for each name its range or its choices. The
    component's own event `link` asks for a link to the page as it stands.
    """

    def __init__(self, controls: dict[str, Any]) -> None:
        super().__init__("masthead", {"controls": controls})


class Notes(_Scripted):
    """What the chosen proposer, verifier and tau mean for the text and its cost."""

    def __init__(self, start: dict[str, Any]):
        super().__init__("notes", {"start": start} | _parts())


def script(names: tuple[str, ...], facts: dict[str, Any]) -> str:
    """The scripts joined into one function body, with the page's words and `facts` in front."""
    sources = [(ASSETS / "js" / f"{name}.js").read_text(encoding="utf-8") for name in names]
    constants = f"const TEXT = ({_literal(views())})[window.sporkLanguage || \"en\"];\nconst FACTS = {_literal(facts)};"
    return "\n".join(['"use strict";', constants, *sources, f"//# sourceURL=spork-{names[-1].replace('/', '-')}.js"])


def style() -> str:
    """The page's style sheets, joined."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((ASSETS / "css").glob("*.css")))


def _literal(data: Any) -> str:
    """JSON that is safe inside a script wherever gradio puts it."""
    return json.dumps(data).replace("<", "\\u003c")


def _parts() -> dict[str, Any]:
    """What the page says about proposers and verifiers, read from the engine's own registries."""
    return {
        "proposers": {name: part.summary for name, part in PROPOSERS.items()},
        "verifiers": {
            name: {"summary": part.summary, "lossless": part.lossless} for name, part in VERIFIERS.items()
        },
    }
