"""The page: what is on it and what each control does. `build_page` loads no model."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # read when gradio is imported

import gradio as gr
from starlette.middleware import Middleware

from spork.errors import TraceError
from spork.sweep import MAX_CELLS

from . import controls
from .api import generate_endpoint
from .components import ASSETS, PLOTLY_JS, LearnView, LiveView, Masthead, RaceView, TuneView, style
from .desk import ModelDesk
from .early_script import EarlyScript
from .endpoints import Endpoints, what_if
from .frames import trace_frame
from .links import linkable
from .runs import SWEEP_TOKENS, Runs
from .settings import Settings
from .theme import theme
from .translations import label, translations
from .words.english import TITLE

log = logging.getLogger(__name__)

MAX_UPLOAD = "32mb"

#: Every job, from the page or a program, waits in this one line.
ENGINE_LINE = "engine"

_TELL_KNOBS = (
    "(proposer, verifier, tau, k, m) => "
    "{ window.dispatchEvent(new CustomEvent('spork:knobs', {detail: {proposer, verifier, tau, k, m}})); }"
)


def _tell(what: str, mode: str) -> str:
    """Script that tells the page's parts about a job and hands the inputs on as they are."""
    return (
        f"(...values) => {{ window.dispatchEvent(new CustomEvent('spork:{what}', {{detail: {{mode: '{mode}'}}}})); return values; }}"
    )


def build_page(settings: Settings, desk: ModelDesk | None = None) -> gr.Blocks:
    """The whole page as a Blocks app; its desk is at `demo.desk`."""
    desk = desk or ModelDesk(settings, settings.models or (_default_model(),))
    runs = Runs(settings, desk)
    ends = Endpoints(runs)
    gr.set_static_paths([PLOTLY_JS])
    with gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True) as demo:
        head = gr.Column(elem_id="spork-head")
        asking = controls.ask(settings)
        with gr.Column(elem_id="spork-panel-live", elem_classes="spork-panel"):
            view = LiveView(_recording("live")[0])
        with gr.Column(elem_id="spork-panel-race", elem_classes="spork-panel"):
            race_view = RaceView()
        with gr.Column(elem_id="spork-panel-tune", elem_classes="spork-panel"):
            tune_view = TuneView(
                {"tokens": min(SWEEP_TOKENS, settings.max_new_tokens), "seconds": settings.max_sweep_seconds, "cells": MAX_CELLS}, what_if
            )
        model, knobs = controls.knobs(settings, desk)
        with gr.Column(elem_id="spork-panel-learn", elem_classes="spork-panel"):
            LearnView(*_tour(), {name: knobs[name].value for name in ("k", "m")})
        with head:
            masthead = Masthead(linkable(asking.prompt, model, knobs))
        upload = gr.UploadButton(label("load_trace"), file_types=[".jsonl"], visible="hidden", elem_id="spork-upload")
        run_id = gr.Textbox(visible=False, label="run")
        form = gr.Textbox(visible=False, label="form")
        every = [asking.prompt, model, *knobs.values()]

        def job(mode: str, button: gr.Button, act: Any, inputs: list[Any], output: Any, before: str | None = None) -> Any:
            run = button.click(
                act, inputs, output, js=before or _tell("pending", mode), api_name=f"page_{mode}", api_visibility="undocumented",
                concurrency_id=ENGINE_LINE, concurrency_limit=settings.max_runs, show_progress="minimal",
                show_progress_on=asking.queue,
            )  # fmt: skip
            run.success(None, None, None, js=_tell("ended", mode), api_visibility="private")
            run.failure(None, None, None, js=_tell("failed", mode), api_visibility="private")
            return run

        fill_form = f"(_, ...rest) => ({_tell('pending', 'tune')})(window.sporkSweepForm(), ...rest)"
        jobs = [
            job("live", asking.generate, ends.page_run, every, view),
            job("race", asking.race, ends.page_race, every, race_view),
            job("tune", asking.sweep, ends.page_sweep, [form, *every[1:]], tune_view, fill_form),
        ]
        # Enter presses whichever of the three starters is on show.
        asking.prompt.submit(None, None, None, js="() => window.sporkStart()", api_visibility="private")
        # First ask the job to end, so that its last figures arrive; then cut off what has not.
        asked = asking.stop.click(
            ends.stop, run_id, None, js="() => window.sporkStop()", queue=False, show_progress="hidden",
            api_name="stop", api_visibility="undocumented",
        )  # fmt: skip
        asked.then(None, None, None, cancels=jobs, api_visibility="private").then(
            None, None, None, js="() => window.sporkStopped()", api_visibility="private"
        )
        upload.upload(
            ends.load_trace, upload, view, show_progress="hidden",
            api_name="load_trace", api_visibility="undocumented", concurrency_limit=4,
        )  # fmt: skip
        demo.load(
            ends.model_status, None, masthead, show_progress="hidden",
            api_name="model_status", api_visibility="undocumented", concurrency_limit=None,
        )  # fmt: skip
        told = [knobs[name] for name in ("proposer", "verifier", "tau", "k", "m")]
        gr.on([knob.change for knob in told], None, told, None, js=_TELL_KNOBS, api_visibility="private")
        tune_view.apply(
            None, None, [knobs[name] for name in ("k", "m", "tau")], js="() => window.sporkApply", api_visibility="private"
        )
        masthead.link(None, every, None, js="(...values) => { window.sporkShare(values); }", api_visibility="private")
        demo.load(None, every, every, js="(...values) => window.sporkFromLink(values)", api_visibility="private")
        gr.api(generate_endpoint(runs), api_name="generate", concurrency_id=ENGINE_LINE, concurrency_limit=settings.max_runs)
    demo.queue(max_size=settings.max_queue + settings.max_runs)
    demo.desk = desk
    return demo


def launch(demo: gr.Blocks, settings: Settings, **more: Any) -> Any:
    """Start loading the default model and serve the page; `more` goes to gradio's launch."""
    demo.desk.start(demo.desk.default)
    return demo.launch(
        server_name=settings.host, server_port=settings.port, root_path=settings.root_path or None,
        inbrowser=settings.open, theme=theme(), css=style(), i18n=translations(), run_history=False, footer_links=[],
        max_file_size=MAX_UPLOAD, share=False, enable_monitoring=False, ssr_mode=False,
        app_kwargs={"middleware": [Middleware(EarlyScript)]}, **more,
    )  # fmt: skip


def _recording(purpose: str, folder: Path = ASSETS / "traces") -> tuple[str, str] | tuple[None, None]:
    """The first recorded trace of a purpose, as a frame and as text, so that the page is alive before any weight is loaded."""
    for path in sorted((folder / purpose).glob("*.jsonl")):
        try:
            text = path.read_text(encoding="utf-8")
            return trace_frame(path.stem, "recorded", text), text
        except (OSError, UnicodeDecodeError, TraceError) as error:
            log.warning("recorded trace %s left out: %s", path.name, error)
    return None, None


def _tour() -> tuple[str | None, dict[str, Any]]:
    """The tour's recording as a frame, and what `what_if` says of it."""
    frame, text = _recording("learn")
    answers = what_if(text) if text else {}
    if "error" in answers:
        log.warning("the tour's recording is left out: %s", answers["error"])
        return None, {}
    return frame, answers


def _default_model() -> str:
    from spork.models import DEFAULT_MODEL

    return DEFAULT_MODEL
