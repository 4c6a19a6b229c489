"""The page's own HTML components: static shells that the scripts in assets/js fill.

The templates are static on purpose. A template that mentions the value is compiled anew on every
update, and would run whatever a model wrote into it; the scripts write text with `textContent`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gradio as gr
import plotly

from spork.proposers import PROPOSERS
from spork.verifiers import VERIFIERS

from .text import VIEW

ASSETS = Path(__file__).resolve().parent.parent / "assets"
PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"

#: In the order they need each other; each defines one constant.
VIEW_SCRIPTS = (
    "format", "store", "pacing", "plotly", "figure", "tree", "inspector", "text", "run_notes", "gauges", "strip", "transport", "view",
)  # fmt: skip
MASTHEAD_SCRIPTS = ("format", "masthead")
NOTES_SCRIPTS = ("format", "run_notes", "notes")

from gradio.events import Dependency

class _Scripted(gr.HTML):
    """A container whose content a script builds; the value travels as JSON text."""

    def __init__(self, name: str, scripts: tuple[str, ...], facts: dict[str, Any], value: str | None = None):
        super().__init__(
            value=value,
            html_template=f'<div class="spork-{name}"></div>',
            js_on_load=script(scripts, facts),
            apply_default_css=False,
            elem_id=f"spork-{name}",
        )

    def api_info(self) -> dict[str, Any]:
        return {"type": "string"}
    from typing import Callable, Literal, Sequence, Any, TYPE_CHECKING
    from gradio.blocks import Block
    if TYPE_CHECKING:
        from gradio.components import Timer
        from gradio.components.base import Component


class LiveView(_Scripted):
    """Text, gauges, tree and rounds. Its value is a frame (see frames.py)."""

    def __init__(self, value: str | None):
        super().__init__("view", VIEW_SCRIPTS, {"plotly": str(PLOTLY_JS)} | _parts(), value)
    from typing import Callable, Literal, Sequence, Any, TYPE_CHECKING
    from gradio.blocks import Block
    if TYPE_CHECKING:
        from gradio.components import Timer
        from gradio.components.base import Component


class Masthead(_Scripted):
    """Name, model line, badge and theme switch. Its value is a ModelStatus as JSON."""

    def __init__(self) -> None:
        super().__init__("masthead", MASTHEAD_SCRIPTS, {})
    from typing import Callable, Literal, Sequence, Any, TYPE_CHECKING
    from gradio.blocks import Block
    if TYPE_CHECKING:
        from gradio.components import Timer
        from gradio.components.base import Component


class Notes(_Scripted):
    """What the chosen proposer, verifier and tau mean for the text and its cost."""

    def __init__(self, start: dict[str, Any]):
        super().__init__("notes", NOTES_SCRIPTS, {"start": start} | _parts())
    from typing import Callable, Literal, Sequence, Any, TYPE_CHECKING
    from gradio.blocks import Block
    if TYPE_CHECKING:
        from gradio.components import Timer
        from gradio.components.base import Component


def script(names: tuple[str, ...], facts: dict[str, Any]) -> str:
    """The scripts joined into one function body, with the page's words and `facts` in front."""
    sources = [(ASSETS / "js" / f"{name}.js").read_text(encoding="utf-8") for name in names]
    constants = f"const TEXT = {_literal(VIEW)};\nconst FACTS = {_literal(facts)};"
    return "\n".join(['"use strict";', constants, *sources, f"//# sourceURL=spork-{names[-1]}.js"])


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