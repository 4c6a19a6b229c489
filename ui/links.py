"""What a link to the page may carry: the prompt, the model and the knobs, each with what it may hold."""

from __future__ import annotations

from typing import Any

import gradio as gr


def linkable(prompt: gr.Textbox, model: gr.Dropdown, knobs: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By name, in the order the page's functions take them; the browser checks a link against it."""
    return {name: _allowed(control) for name, control in {"prompt": prompt, "model": model, **knobs}.items()}


def _allowed(control: Any) -> dict[str, Any]:
    if isinstance(control, gr.Dropdown):
        return {"choices": [value for _, value in control.choices]}
    if isinstance(control, gr.Textbox):
        return {"length": control.max_length}
    low, high = getattr(control, "minimum", None), getattr(control, "maximum", None)
    return {"low": low, "high": 2**53 - 1 if high is None else high, "whole": getattr(control, "precision", None) == 0 or control.step >= 1}
