"""The page: what is on it and what each control does. `build_page` loads no model."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # read when gradio is imported

import gradio as gr
from starlette.middleware import Middleware

from spork.config import BUDGETS, EARLY_SCORES, KNOBS, SporkConfig
from spork.errors import TraceError
from spork.proposers import PROPOSERS
from spork.verifiers import VERIFIERS

from .components import ASSETS, PLOTLY_JS, LiveView, Masthead, Notes, style
from .desk import ModelDesk
from .early_script import EarlyScript
from .endpoints import Endpoints
from .frames import trace_frame
from .settings import Settings
from .text import EXAMPLES, PAGE, TITLE
from .theme import theme

log = logging.getLogger(__name__)

MAX_UPLOAD = "32mb"

#: Every run, from the page or a program, waits in this one line.
ENGINE_LINE = "engine"

_TELL_PENDING = "(...values) => { window.dispatchEvent(new CustomEvent('spork:pending')); return values; }"
_TELL_STOPPING = "() => { window.dispatchEvent(new CustomEvent('spork:stopping')); return window.sporkRun || ''; }"
_TELL_ENDED = "() => { window.dispatchEvent(new CustomEvent('spork:ended')); }"
_TELL_FAILED = "() => { window.dispatchEvent(new CustomEvent('spork:failed')); }"
_TELL_KNOBS = (
    "(proposer, verifier, tau) => "
    "{ window.dispatchEvent(new CustomEvent('spork:knobs', {detail: {proposer, verifier, tau}})); }"
)


def build_page(settings: Settings, desk: ModelDesk | None = None) -> gr.Blocks:
    """The whole page as a Blocks app; its desk is at `demo.desk`."""
    desk = desk or ModelDesk(settings, settings.models or (_default_model(),))
    ends = Endpoints(settings, desk)
    gr.set_static_paths([PLOTLY_JS])
    with gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True) as demo:
        masthead = Masthead()
        with gr.Column(elem_id="spork-ask"):
            with gr.Row(elem_id="spork-prompt-row", equal_height=True):
                prompt = gr.Textbox(
                    value=EXAMPLES[0][1], label=PAGE["prompt"], placeholder=PAGE["prompt_placeholder"],
                    lines=2, max_lines=6, max_length=settings.max_prompt_chars, elem_id="spork-prompt",
                    scale=8, html_attributes=gr.InputHTMLAttributes(spellcheck=False),
                )  # fmt: skip
                with gr.Column(elem_id="spork-actions", scale=0, min_width=160):
                    go = gr.Button(PAGE["generate"], variant="primary", elem_id="spork-generate")
                    stop = gr.Button(PAGE["stop"], elem_id="spork-stop")
            with gr.Row(elem_id="spork-examples"):
                for name, text in EXAMPLES:
                    example = gr.Button(name, size="sm", min_width=0, elem_classes="spork-example")
                    example.click(None, None, prompt, js=f"() => {text!r}", api_visibility="private")
            queue = gr.HTML(elem_id="spork-queue", value="", apply_default_css=False)
        view = LiveView(_recording())
        with gr.Column(elem_id="spork-knobs"):
            model, knobs = _knobs(settings, desk)
        upload = gr.UploadButton(
            PAGE["load_trace"], file_types=[".jsonl"], visible="hidden", elem_id="spork-upload"
        )
        run_id = gr.Textbox(visible=False, label="run")

        run = gr.on(
            [go.click, prompt.submit], ends.page_run, [prompt, model, *knobs], view, js=_TELL_PENDING,
            api_name="page_run", api_visibility="undocumented", concurrency_id=ENGINE_LINE,
            concurrency_limit=settings.max_runs, show_progress="minimal", show_progress_on=queue,
        )  # fmt: skip
        run.success(None, None, None, js=_TELL_ENDED, api_visibility="private")
        run.failure(None, None, None, js=_TELL_FAILED, api_visibility="private")
        # First ask the run to end, so that its last figures arrive; then cut off what has not.
        asked = stop.click(
            ends.stop, run_id, None, js=_TELL_STOPPING, queue=False, show_progress="hidden",
            api_name="stop", api_visibility="undocumented",
        )  # fmt: skip
        asked.then(None, None, None, cancels=[run], api_visibility="private").then(
            None, None, None, js=_TELL_ENDED, api_visibility="private"
        )
        upload.upload(
            ends.load_trace, upload, view, show_progress="hidden",
            api_name="load_trace", api_visibility="undocumented", concurrency_limit=4,
        )  # fmt: skip
        demo.load(
            ends.model_status, None, masthead, show_progress="hidden",
            api_name="model_status", api_visibility="undocumented", concurrency_limit=None,
        )  # fmt: skip
        gr.api(
            ends.generate_endpoint(), api_name="generate", concurrency_id=ENGINE_LINE, concurrency_limit=settings.max_runs
        )
    demo.queue(max_size=settings.max_queue + settings.max_runs)
    demo.desk = desk
    return demo


def launch(demo: gr.Blocks, settings: Settings, **more: Any) -> Any:
    """Start loading the default model and serve the page; `more` goes to gradio's launch."""
    demo.desk.start(demo.desk.default)
    return demo.launch(
        server_name=settings.host, server_port=settings.port, root_path=settings.root_path or None,
        inbrowser=settings.open, theme=theme(), css=style(), run_history=False, footer_links=[],
        max_file_size=MAX_UPLOAD, share=False, enable_monitoring=False, ssr_mode=False,
        app_kwargs={"middleware": [Middleware(EarlyScript)]}, **more,
    )  # fmt: skip


def _knobs(settings: Settings, desk: ModelDesk) -> tuple[gr.Component, list[gr.Component]]:
    """The model's menu, and the other controls in the order `Endpoints.page_run` takes them."""
    start = SporkConfig(max_new_tokens=settings.first_new_tokens)
    with gr.Row(elem_id="spork-main-knobs"):
        k, m, tau = (_slider(name, getattr(start, name)) for name in ("k", "m", "tau"))
        offered = [name for name in PROPOSERS if name != "draft-model" or settings.draft_model]
        proposer = gr.Dropdown(offered, value=start.proposer, label=PAGE["proposer"], filterable=False)
        verifier = gr.Dropdown(list(VERIFIERS), value=start.verifier, label=PAGE["verifier"], filterable=False)
        model = gr.Dropdown(
            list(desk.names), value=desk.default, label=PAGE["model"], filterable=False, visible=len(desk.names) > 1
        )
    Notes({"proposer": start.proposer, "verifier": start.verifier, "tau": start.tau})
    with gr.Accordion(PAGE["more"], open=False, elem_id="spork-more"), gr.Row():
        new_tokens = _slider("max_new_tokens", start.max_new_tokens, low=1, high=settings.max_new_tokens)
        temperature = _slider("temperature", start.temperature, high=2.0)
        seed = gr.Number(start.seed, label=PAGE["seed"], precision=0, minimum=0)
        early_score = gr.Dropdown(
            list(EARLY_SCORES), value=start.early_score, label=PAGE["early_score"], filterable=False
        )
        layers = gr.Number(0, label=PAGE["layers"], precision=0, minimum=0)
        budget = gr.Dropdown(
            [(PAGE[f"budget_{name}"], name) for name in BUDGETS], value=start.budget, label=PAGE["budget"], filterable=False
        )
    gr.on(
        [proposer.change, verifier.change, tau.change], None, [proposer, verifier, tau], None,
        js=_TELL_KNOBS, api_visibility="private",
    )  # fmt: skip
    return model, [k, m, tau, proposer, verifier, new_tokens, temperature, seed, early_score, layers, budget]


def _slider(name: str, value: float, low: float | None = None, high: float | None = None) -> gr.Slider:
    """A slider over a knob's own range, narrowed where the page offers less."""
    knob = KNOBS[name]
    return gr.Slider(
        knob.low if low is None else low, knob.high if high is None else high, value,
        step=knob.step, label=PAGE[name], elem_id=f"spork-{name.replace('_', '-')}", buttons=[],
    )  # fmt: skip


def _recording(folder: Path = ASSETS / "traces") -> str | None:
    """The first recorded trace, so that the page is alive before any weight is loaded."""
    for path in sorted(folder.glob("*.jsonl")):
        try:
            return trace_frame(path.stem, "recorded", path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, TraceError) as error:
            log.warning("recorded trace %s left out: %s", path.name, error)
    return None


def _default_model() -> str:
    from spork.models import DEFAULT_MODEL

    return DEFAULT_MODEL
