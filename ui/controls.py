"""Gradio's own controls: the prompt with its buttons, and the knobs. Their words are translations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from spork.config import BUDGETS, EARLY_SCORES, KNOBS, SporkConfig
from spork.proposers import PROPOSERS
from spork.verifiers import VERIFIERS

from .components import Notes
from .desk import ModelDesk
from .examples import EXAMPLES
from .settings import Settings
from .translations import label

#: The knobs in the order the page's functions take them.
KNOB_NAMES = (
    "k", "m", "tau", "proposer", "verifier", "max_new_tokens", "temperature", "seed", "early_score", "layers", "budget",
)  # fmt: skip


@dataclass(frozen=True)
class Ask:
    """The prompt and what starts and stops. One of the three starters shows, by the tab that is open."""

    prompt: gr.Textbox
    generate: gr.Button
    race: gr.Button
    sweep: gr.Button
    stop: gr.Button
    queue: gr.HTML


def ask(settings: Settings) -> Ask:
    with gr.Column(elem_id="spork-ask"):
        with gr.Row(elem_id="spork-prompt-row", equal_height=True):
            prompt = gr.Textbox(
                value=next(iter(EXAMPLES.values())), label=label("prompt"), placeholder=label("prompt_placeholder"),
                lines=2, max_lines=6, max_length=settings.max_prompt_chars, elem_id="spork-prompt",
                scale=8, html_attributes=gr.InputHTMLAttributes(spellcheck=False),
            )  # fmt: skip
            with gr.Column(elem_id="spork-actions", scale=0, min_width=160):
                starters = [
                    gr.Button(label(name), variant="primary", elem_id=f"spork-{name}", elem_classes="spork-start")
                    for name in ("generate", "race", "sweep")
                ]
                stop = gr.Button(label("stop"), elem_id="spork-stop")
        with gr.Row(elem_id="spork-examples"):
            for name, text in EXAMPLES.items():
                example = gr.Button(label(f"example_{name}"), size="sm", min_width=0, elem_classes="spork-example")
                example.click(None, None, prompt, js=f"() => {text!r}", api_visibility="private")
        queue = gr.HTML(elem_id="spork-queue", value="", apply_default_css=False)
    return Ask(prompt, *starters, stop, queue)


def knobs(settings: Settings, desk: ModelDesk) -> tuple[gr.Dropdown, dict[str, Any]]:
    """The model's menu, and the knobs by name in the order of KNOB_NAMES."""
    start = SporkConfig(max_new_tokens=settings.first_new_tokens)
    made: dict[str, Any] = {}
    with gr.Column(elem_id="spork-knobs"):
        with gr.Row(elem_id="spork-main-knobs"):
            for name in ("k", "m", "tau"):
                made[name] = _slider(name, getattr(start, name))
            offered = [name for name in PROPOSERS if name != "draft-model" or settings.draft_model]
            made["proposer"] = _menu("proposer", offered, start.proposer)
            made["verifier"] = _menu("verifier", list(VERIFIERS), start.verifier)
            model = _menu("model", list(desk.names), desk.default, visible=len(desk.names) > 1)
        Notes({"proposer": start.proposer, "verifier": start.verifier, "tau": start.tau})
        with gr.Accordion(label("more"), open=False, elem_id="spork-more"), gr.Row():
            made["max_new_tokens"] = _slider("max_new_tokens", start.max_new_tokens, low=1, high=settings.max_new_tokens)
            made["temperature"] = _slider("temperature", start.temperature, high=2.0)
            made["seed"] = gr.Number(start.seed, label=label("seed"), precision=0, minimum=0)
            made["early_score"] = _menu("early_score", list(EARLY_SCORES), start.early_score)
            made["layers"] = gr.Number(0, label=label("layers"), precision=0, minimum=0)
            made["budget"] = _menu("budget", [(label(f"budget_{name}"), name) for name in BUDGETS], start.budget)
    return model, {name: made[name] for name in KNOB_NAMES}


def _slider(name: str, value: float, low: float | None = None, high: float | None = None) -> gr.Slider:
    """A slider over a knob's own range, narrowed where the page offers less."""
    knob = KNOBS[name]
    return gr.Slider(
        knob.low if low is None else low, knob.high if high is None else high, value,
        step=knob.step, label=label(name), elem_id=f"spork-{name.replace('_', '-')}", buttons=[],
    )  # fmt: skip


def _menu(name: str, choices: list[Any], value: str, visible: bool = True) -> gr.Dropdown:
    return gr.Dropdown(choices, value=value, label=label(name), filterable=False, visible=visible)
