"""fit-lens: the ridge lens of several depths, its calibrations, and the AUC that says what it is worth.

Text: the model's own, from prompts. Part of the prompts is kept apart: half of that calibrates,
the other half measures, so the printed AUC is on text that nothing was fitted to. Forks to judge
are those that decoding meets: SPORK runs on the kept prompts with `full-model` and `recycling`
proposing and exact verification, whose verdict says which forks are the model's own text.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Sequence

import torch

from ..config import EARLY_SCORES, SporkConfig
from ..engine import Engine
from ..errors import ConfigError
from ..lens import LayerLens, Lens, fingerprint
from ..parts import ModelParts
from ..progress import Progress, ignore
from ..proposers import PROPOSERS
from ..round_context import RoundContext
from ..tree import ROOT
from ..verifiers.base import Verdict
from ..verifiers.early_layers import EarlyJudge, fork_path
from ..verifiers.exact import Exact
from .calibrate import calibrate
from .ridge import Ridge
from .self_text import self_generated

#: Forks are judged in runs of this shape and length.
JUDGED = SporkConfig(k=4, m=3, max_new_tokens=64)
LONGEST = 512  # tokens of a sequence that the map is fitted on


@dataclass
class FitReport:
    """One line a layer: agreement of the lens with the model, and AUC by score."""

    layers: int
    top1: float
    top4: float
    auc: dict[str, float]
    forks: int
    agreeing: int


def default_layers(count: int) -> list[int]:
    """Depths worth trying in a model of `count` layers: a fifth, a third, a half, two thirds."""
    return sorted({max(1, round(count * part)) for part in (1 / 5, 1 / 3, 1 / 2, 2 / 3)})


def fit_lens(
    engine: Engine, prompts: Sequence[str], layers: Sequence[int] | None, tokens: int, held_out: int,
    seed: int, progress: Progress, text: list[list[int]] | None = None,
) -> tuple[Lens, list[FitReport]]:
    """Fit, calibrate and measure. Raises ConfigError when there are too few prompts or a bad layer.

    `text` gives sequences the model wrote earlier, to fit the map on instead of writing new ones;
    the kept prompts must not be among theirs.
    """
    count = len(engine.runner.layers)
    layers = sorted(set(layers)) if layers else default_layers(count)
    if not all(1 <= n < count for n in layers):
        raise ConfigError(f"layers must lie from 1 to {count - 1} for {engine.loaded.name}")
    if held_out < 4 or len(prompts) < held_out + 4:
        raise ConfigError(f"{len(prompts)} prompts are too few to keep {held_out} apart; at least 4 on each side")
    if tokens < 100:
        raise ConfigError("tokens must be at least 100")
    shuffled = random.Random(seed).sample(list(prompts), len(prompts))
    kept, written = shuffled[:held_out], shuffled[held_out:]
    sequences = text if text is not None else self_generated(engine, written, tokens, seed, progress)
    maps = _fit_maps(engine, sequences, layers, progress)
    lenses = {n: LayerLens(*maps[n], calibrations={}, top1=0.0, top4=0.0) for n in layers}
    half = held_out // 2
    fit_on = judge_forks(engine, lenses, kept[:half], progress, "calibrating")
    measured = judge_forks(engine, lenses, kept[half:], progress, "measuring")
    for n, lens in lenses.items():
        lens.calibrations = {k: calibrate(fit_on[n].forks[k], measured[n].forks[k]) for k in EARLY_SCORES}
        lens.top1, lens.top4 = measured[n].agreement()
    reports = [_report(n, lens) for n, lens in lenses.items()]
    lens = Lens(
        lenses, _best(reports), fingerprint(engine.loaded.model),
        {
            "model": engine.loaded.name, "sequences": len(sequences), "tokens": sum(map(len, sequences)),
            "held_out_prompts": held_out, "seed": seed, "dtype": str(engine.loaded.dtype),
        },
    )
    return lens, reports


def _best(reports: list[FitReport]) -> int:
    """The shallowest depth whose lens score comes within 0.02 of the best AUC: early is the point."""
    top = max(r.auc["lens"] for r in reports)
    return min(r.layers for r in reports if r.auc["lens"] >= top - 0.02)


def _report(n: int, lens: LayerLens) -> FitReport:
    shown = lens.calibrations["lens"]
    return FitReport(n, lens.top1, lens.top4, {k: c.auc for k, c in lens.calibrations.items()}, shown.forks, shown.agreeing)


@torch.inference_mode()
def _fit_maps(
    engine: Engine, sequences: Sequence[Sequence[int]], layers: Sequence[int], progress: Progress
) -> dict[int, tuple[torch.Tensor, torch.Tensor]]:
    """Ridge maps from the state after layer N to the final one, for every N, in one sweep of the text."""
    ridges: dict[int, Ridge] = {}
    for number, ids in enumerate(sequences):
        ids = ids[:LONGEST]
        engine.runner.reset(len(ids))
        output = engine.runner.forward(ids, trunk=len(ids), ancestors=(), taps=layers, want_final=True)
        for n, states in output.tapped.items():
            ridge = ridges.setdefault(n, Ridge(states.shape[1], output.final.shape[1]))
            ridge.add(states, output.final)
        progress("fitting the lens", (number + 1) / len(sequences))
    engine.runner.cache.clear()
    return {n: ridge.solve() for n, ridge in ridges.items()}


def judge_forks(
    engine: Engine, lenses: dict[int, LayerLens], prompts: Sequence[str],
    progress: Progress = ignore, doing: str = "judging forks",
) -> "dict[int, Judged]":
    """Decode the prompts with two proposers and watch what each lens makes of the forks."""
    watching = WatchingExact(engine.parts, lenses)
    steps = [(name, prompt) for name in ("full-model", "recycling") for prompt in prompts]
    for number, (name, prompt) in enumerate(steps):
        proposer = PROPOSERS[name](JUDGED, engine.parts)
        for _ in engine.run_parts((proposer, watching), engine.encode(prompt, raw=False), JUDGED):
            pass
        progress(doing, (number + 1) / len(steps))
    return watching.judged


class Judged:
    """What one lens made of the forks met: (feature, agrees) by score kind, and its token ranks."""

    def __init__(self) -> None:
        self.forks: dict[str, list[tuple[float, bool]]] = {kind: [] for kind in EARLY_SCORES}
        self._top1 = self._top4 = self._seen = 0

    def add_root(self, lens_logits: torch.Tensor, own: int) -> None:
        """Count where the model's own token after the root stands for the lens: logits [vocab]."""
        best = lens_logits.topk(4).indices.tolist()
        self._top1 += best[0] == own
        self._top4 += own in best
        self._seen += 1

    def agreement(self) -> tuple[float, float]:
        """Shares of rounds in which the lens's first, and first four, held the model's own token."""
        return self._top1 / self._seen, self._top4 / self._seen


class WatchingExact(Exact):
    """Exact verification that also notes, for every lens, each fork's features and whether the
    fork is the model's own text. So what is calibrated is what decoding meets."""

    def __init__(self, parts: ModelParts, lenses: dict[int, LayerLens]):
        super().__init__(JUDGED, parts)
        self.taps = tuple(lenses)
        self.judged = {n: Judged() for n in lenses}
        self._lenses, self._runner = lenses, parts.runner

    def verify(self, context: RoundContext) -> Verdict:
        verdict = super().verify(context)
        tree, own = context.tree, verdict.own_tokens
        inner = sorted({ROOT, *(tree.parents[n] for n in range(1, len(tree)))})
        paths = [fork_path(tree, fork) for fork in tree.children(ROOT)]
        agrees = [all(tree.tokens[n] == own[tree.parents[n]] for n in path) for path in paths]
        for n, lens in self._lenses.items():
            states = context.states.tapped(inner, n)
            self.judged[n].add_root(self._runner.head(lens.final_state(states[:1]))[0], own[ROOT])
            judge = EarlyJudge(self._runner, lens, tree, inner, states)
            for kind in EARLY_SCORES:
                self.judged[n].forks[kind] += [(judge.feature(kind, p), a) for p, a in zip(paths, agrees)]
        return verdict
