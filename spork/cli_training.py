"""The commands that fit something: `fit-lens`, `train-head`."""

from __future__ import annotations

import argparse
import os
import sys
from itertools import chain
from pathlib import Path

from .errors import ConfigError

#: Prompts the default lens was fitted on; any others can be given.
PROMPTS = Path(__file__).resolve().parent.parent / "assets" / "prompts" / "self_text.txt"


def fit_lens(arguments: argparse.Namespace) -> int:
    from .loading import load_engine
    from .progress import shown
    from .training.fit_lens import check_amounts, fit_lens as fit
    from .training.self_text import read_prompts, read_text

    layers = _layers(arguments.layers)
    out = _out(arguments, "lenses")
    prompts = read_prompts(arguments.prompts or PROMPTS)
    check_amounts(prompts, arguments.tokens, arguments.held_out)
    engine = load_engine(arguments)
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
        chosen = ", the fastest" if r.layers == lens.draft_layers else ""
        print(f"    early-exit drafting with them ran at {r.draft_speed:.2f} times greedy{chosen}")
    print(f"wrote {out}")
    default = lens.layers[lens.default_layers].calibrations["lens"]
    if not min(c.auc for c in default.values()) > 0.5:
        print("the lens score tells agreeing forks no better than chance: fit on more text", file=sys.stderr)
    return 0


def train_head(arguments: argparse.Namespace) -> int:
    from .fork_head import TrainedHead
    from .loading import load_engine
    from .progress import shown
    from .training.self_text import read_prompts, read_text, self_generated, write_text
    from .training.train_head import Recipe, train_head as train

    out = _out(arguments, "heads")
    recipe = Recipe(
        state_width=arguments.state_width, draft_tokens=arguments.draft_tokens, steps=arguments.steps,
        batch=arguments.batch, rate=arguments.rate, held_out=arguments.held_out, seed=arguments.seed,
    )
    recipe.check(sequences=None)
    prompts = read_prompts(arguments.prompts or PROMPTS) if not arguments.text else []
    start = TrainedHead.load(arguments.start) if arguments.start else None
    engine = load_engine(arguments)
    vocab = engine.loaded.model.get_input_embeddings().weight.shape[0]
    kept = out.with_suffix(".text.npz")
    with shown(None) as progress:
        if arguments.text or kept.is_file():
            text, *more = [read_text(path, vocab) for path in arguments.text or [kept]]
        else:
            text, more = self_generated(engine, prompts, arguments.tokens, arguments.seed, progress), []
            write_text(kept, text)
        head = train(engine, text, recipe, progress, start, out.with_suffix(".checkpoint"), list(chain(*more)))
    head.save(out)
    print("on held-out text, the model's own next token is among the head's first:")
    print("    " + "   ".join(f"{n.removeprefix('top')}: {share:.1%}" for n, share in head.agreement.items()))
    print(f"wrote {out} and {out.with_suffix('.json').name}")
    return 0


def _layers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"layers must be whole numbers separated by commas, got {text!r}") from None


def _out(arguments: argparse.Namespace, kind: str) -> Path:
    """Where the fitted file goes, tried before the minutes of work that make it."""
    from .fitted import fitted_places

    out = Path(arguments.out) if arguments.out else fitted_places(kind, arguments.model)[0]
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.is_dir() or not os.access(out.parent, os.W_OK):
            raise ConfigError(f"cannot write to {out}: it is a folder, or lies in one that cannot be written")
    except OSError as error:
        raise ConfigError(f"cannot write to {out}: {error.strerror}") from None
    return out
