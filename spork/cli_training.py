"""The commands that fit something: `fit-lens`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from .errors import ConfigError

#: Prompts the default lens was fitted on; any others can be given.
PROMPTS = Path(__file__).resolve().parent.parent / "assets" / "prompts" / "self_text.txt"


def fit_lens(arguments: argparse.Namespace) -> int:
    from .engine import Engine
    from .models import load_model
    from .progress import shown
    from .training.fit_lens import fit_lens as fit
    from .training.self_text import read_prompts, read_text

    layers = _layers(arguments.layers)
    out = _out(arguments)
    prompts = read_prompts(arguments.prompts or PROMPTS)
    engine = Engine(load_model(arguments.model, arguments.device, arguments.dtype))
    vocab = engine.loaded.model.get_input_embeddings().weight.shape[0]
    text = read_text(arguments.text, vocab) if arguments.text else None
    with shown(None) as progress:
        lens, reports = fit(
            engine, prompts, layers, arguments.tokens, arguments.held_out, arguments.seed, progress, text
        )
    lens.save(out)
    print("AUC of a fork's score, by kind of score and by who proposed the fork, on held-out prompts:")
    print("the chance that a fork which agrees with greedy scores above one that does not")
    for r in reports:
        mark = ", the default" if r.layers == lens.default_layers else ""
        print(f"{r.layers} layers{mark}: the model's own token is the lens's first {r.top1:.1%}, in its first four {r.top4:.1%}")
        for kind, by_proposer in r.calibrations.items():
            cells = [f"{who} {c.auc:.3f} ({c.agreeing} of {c.forks} agree)" for who, c in by_proposer.items()]
            print(f"    {kind:7} {'   '.join(cells)}")
    print(f"wrote {out}")
    default = lens.layers[lens.default_layers].calibrations["lens"]
    if not min(c.auc for c in default.values()) > 0.5:
        print("the lens score tells agreeing forks no better than chance: fit on more text", file=sys.stderr)
    return 0


def _layers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"layers must be whole numbers separated by commas, got {text!r}") from None


def _out(arguments: argparse.Namespace) -> Path:
    """Where the lens goes, tried before the minutes of work that make it."""
    from .lens import lens_places

    out = Path(arguments.out) if arguments.out else lens_places(arguments.model)[0]
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.is_dir() or not os.access(out.parent, os.W_OK):
            raise ConfigError(f"cannot write a lens to {out}: it is a folder, or lies in one that cannot be written")
    except OSError as error:
        raise ConfigError(f"cannot write a lens to {out}: {error.strerror}") from None
    return out
