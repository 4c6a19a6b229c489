"""Gradio's theme, brought in line with assets/css: system fonts, our colours, no shadows."""

from __future__ import annotations

import gradio as gr

_SANS = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "Liberation Sans", "sans-serif")
_MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "DejaVu Sans Mono", "monospace")


def theme() -> gr.themes.Base:
    """Every colour is a variable of assets/css/10-base.css, so light and dark are decided there."""
    return gr.themes.Base(font=_SANS, font_mono=_MONO, radius_size=gr.themes.sizes.radius_md).set(
        **_both("body_background_fill", "var(--paper)"),
        **_both("background_fill_primary", "var(--surface)"),
        **_both("background_fill_secondary", "var(--paper)"),
        **_both("body_text_color", "var(--ink)"),
        **_both("body_text_color_subdued", "var(--muted)"),
        **_both("border_color_primary", "var(--line)"),
        **_both("block_background_fill", "transparent"),
        **_both("block_label_text_color", "var(--muted)"),
        **_both("block_title_text_color", "var(--muted)"),
        **_both("input_background_fill", "var(--surface)"),
        **_both("input_border_color", "var(--line-strong)"),
        **_both("input_placeholder_color", "var(--muted)"),
        **_both("slider_color", "var(--accepted)"),
        **_both("color_accent_soft", "var(--select)"),
        **_both("button_primary_background_fill", "var(--action)"),
        **_both("button_primary_background_fill_hover", "var(--action-hover)"),
        **_both("button_primary_text_color", "var(--action-ink)"),
        **_both("button_secondary_background_fill", "var(--surface)"),
        **_both("button_primary_border_color_hover", "var(--action)"),
        **_both("button_secondary_background_fill_hover", "var(--hover)"),
        **_both("button_secondary_border_color", "var(--line-strong)"),
        **_both("button_secondary_text_color", "var(--ink)"),
        input_border_width="1px",
        **_both("button_primary_border_color", "var(--action)"),
        block_border_width="0px",
        block_shadow="none",
        block_padding="0",
        block_title_text_weight="500",
        block_title_text_size="var(--t-sm)",
        input_shadow="none",
        input_shadow_focus="none",
        button_border_width="1px",
        button_transition="none",
        color_accent="var(--accepted)",
    )


def _both(name: str, value: str) -> dict[str, str]:
    return {name: value, f"{name}_dark": value}
