"""The commands that fit something: `fit-lens`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .errors import ConfigError

#: Prompts the default lens was fitted on; any others can be given.
PROMPTS = Path(__file__).resolve().parent.parent / "assets" / "prompts" / "self_text.txt"


def fit_lens(arguments: argparse.Namespace) -> int:
    from .engine import Engine
    from .lens import lens_places
    from .models import load_model
    from .progress import shown
    from .training.fit_lens import fit_lens as fit
    from .training.self_text import read_prompts, read_text

    layers = _layers(arguments.layers)
    prompts = read_prompts(arguments.prompts or PROMPTS)
    engine = Engine(load_model(arguments.model, arguments.device, arguments.dtype))
    vocab = engine.loaded.model.get_input_embeddings().weight.shape[0]
    text = read_text(arguments.text, vocab) if arguments.text else None
    with shown(None) as progress:
        lens, reports = fit(
            engine, prompts, layers, arguments.tokens, arguments.held_out, arguments.seed, progress, text
        )
    out = Path(arguments.out) if arguments.out else lens_places(arguments.model)[0]
    lens.save(out)
    print("AUC: chance that a fork which agrees with greedy scores above one that does not, on held-out prompts")
    print(f"{'layers':>6} {'top-1':>6} {'top-4':>6} {'lens':>6}  by proposer{'':22} {'cosine':>6} {'norm':>6}  forks, agreeing")
    for r in reports:
        lens_score = r.calibrations["lens"]
        parts = ", ".join(f"{name} {value:.3f}" for name, value in lens_score.auc_by_proposer.items())
        print(
            f"{r.layers:6d} {r.top1:6.1%} {r.top4:6.1%} {lens_score.auc:6.3f}  {parts:33} {r.calibrations['cosine'].auc:6.3f} "
            f"{r.calibrations['norm'].auc:6.3f}  {lens_score.forks}, {lens_score.agreeing}"
            f"{' (default)' if r.layers == lens.default_layers else ''}"
        )
    print(f"wrote {out}")
    if not lens.layers[lens.default_layers].calibrations["lens"].auc > 0.5:
        print("the lens score tells agreeing forks no better than chance: fit on more text", file=sys.stderr)
    return 0


def _layers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"layers must be whole numbers separated by commas, got {text!r}") from None
