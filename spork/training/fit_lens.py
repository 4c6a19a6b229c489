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
from ..fitted import fingerprints
from ..lens import Calibration, LayerLens, Lens, StateMap
from ..parts import ModelParts
from ..progress import Progress, ignore
from ..proposers import PROPOSERS
from ..round_context import RoundContext
from ..tree import ROOT
from ..verifiers.base import Verdict
from ..verifiers.early_layers import EarlyJudge
from ..verifiers.exact import Exact
from .calibrate import JudgedFork, calibrate
from .draft_layers import time_draft_layers
from .ridge import Ridge
from .self_text import Written, self_generated, without_prompts

#: Forks are judged in runs of this shape and length.
JUDGED_PROPOSERS = ("full-model", "recycling")
JUDGED = SporkConfig(k=4, m=3, budget="full", max_new_tokens=64)
LONGEST = 512  # tokens of a sequence that the map is fitted on
FEWEST_TOKENS = 100


@dataclass
class FitReport:
    """One line a layer: agreement of the lens with the model, the calibrations with their AUC, and the
    speed of `early-exit` through it against greedy."""

    layers: int
    top1: float
    top4: float
    calibrations: dict[str, dict[str, Calibration]]
    draft_speed: float = 0.0


def default_layers(count: int) -> list[int]:
    """Depths worth trying in a model of `count` layers: the first few to draft with, a third, two thirds, four fifths to judge with."""
    return sorted({max(1, round(count * part)) for part in (1 / 15, 1 / 5, 1 / 3, 2 / 3, 4 / 5)})


def check_amounts(prompts: Sequence[str], tokens: int, held_out: int) -> None:
    """Raise ConfigError for too few prompts or tokens to fit and to measure on; needs no model."""
    if held_out < 4 or len(prompts) < held_out + 4:
        raise ConfigError(f"{len(prompts)} prompts are too few to keep {held_out} apart; at least 4 on each side")
    if tokens < FEWEST_TOKENS:
        raise ConfigError(f"tokens must be at least {FEWEST_TOKENS}")


def fit_lens(
    engine: Engine, prompts: Sequence[str], layers: Sequence[int] | None, tokens: int, held_out: int,
    seed: int, progress: Progress, text: Sequence[Written] | None = None,
) -> tuple[Lens, list[FitReport]]:
    """Fit, calibrate and measure. Raises ConfigError when there are too few prompts or a bad layer.

    `text` gives sequences the model wrote earlier, to fit the map on instead of writing new ones; what
    answers a kept prompt is left out of it.
    """
    count = len(engine.runner.layers)
    layers = sorted(set(layers)) if layers else default_layers(count)
    if not all(1 <= n < count for n in layers):
        raise ConfigError(f"layers must lie from 1 to {count - 1} for {engine.loaded.name}")
    check_amounts(prompts, tokens, held_out)
    shuffled = random.Random(seed).sample(list(prompts), len(prompts))
    kept, written = shuffled[:held_out], shuffled[held_out:]
    if text is None:
        text = self_generated(engine, written, tokens, seed, progress)
    text = without_prompts(text, [engine.encode(prompt, raw=False) for prompt in kept])
    if (left := sum(len(w.tokens) for w in text)) < FEWEST_TOKENS:
        raise ConfigError(f"the text holds {left} tokens beside what answers the prompts kept apart; at least {FEWEST_TOKENS} are needed")
    sequences = _first_tokens([w.tokens for w in text], tokens)
    maps = _fit_maps(engine, sequences, layers, progress)
    lenses = {n: LayerLens(*maps[n], calibrations={}, top1=0.0, top4=0.0) for n in layers}
    half = held_out // 2
    fit_on = judge_forks(engine, lenses, kept[:half], progress, "calibrating")
    measured = judge_forks(engine, lenses, kept[half:], progress, "measuring")
    for n, lens in lenses.items():
        lens.calibrations = {
            kind: {who: calibrate(fit_on[n].forks[kind, who], measured[n].forks[kind, who]) for who in JUDGED_PROPOSERS}
            for kind in EARLY_SCORES
        }
        lens.top1, lens.top4 = measured[n].agreement()
    reports = [FitReport(n, lens.top1, lens.top4, lens.calibrations) for n, lens in lenses.items()]
    best = max(lenses, key=lambda n: min(c.auc for c in lenses[n].calibrations["lens"].values()))
    lens = Lens(
        lenses, best, fingerprints(engine.loaded.model),
        {
            "model": engine.loaded.name, "sequences": len(sequences), "tokens": sum(map(len, sequences)),
            "held_out_prompts": held_out, "seed": seed, "dtype": str(engine.loaded.dtype),
        },
    )
    speeds = time_draft_layers(engine, lens, kept[half:], progress)
    lens.draft_layers = max(speeds, key=speeds.__getitem__)
    for report in reports:
        report.draft_speed = speeds[report.layers]
    return lens, reports


def _first_tokens(text: Sequence[Sequence[int]], tokens: int) -> list[Sequence[int]]:
    """As many whole sequences as it takes to hold `tokens`."""
    taken, held = [], 0
    for sequence in text:
        if held >= tokens:
            break
        taken.append(sequence)
        held += len(sequence)
    return taken


@torch.inference_mode()
def _fit_maps(
    engine: Engine, sequences: Sequence[Sequence[int]], layers: Sequence[int], progress: Progress
) -> dict[int, tuple[StateMap, StateMap]]:
    """The plain and the informed map for every N, in one sweep of the text."""
    plain: dict[int, Ridge] = {}
    informed: dict[int, Ridge] = {}
    for number, ids in enumerate(sequences):
        ids = ids[:LONGEST]
        engine.runner.reset(len(ids))
        output = engine.runner.forward(ids, trunk=len(ids), ancestors=(), taps=layers, want_final=True)
        for n, states in output.tapped.items():
            width, final = states.shape[1], output.final
            plain.setdefault(n, Ridge(width, final.shape[1])).add(states, final)
            pairs = torch.cat([states[1:], final[:-1]], dim=-1)
            informed.setdefault(n, Ridge(pairs.shape[1], final.shape[1])).add(pairs, final[1:])
        progress("fitting the lens", (number + 1) / len(sequences))
    engine.runner.cache.clear()
    return {n: (StateMap(*plain[n].solve()), StateMap(*informed[n].solve())) for n in plain}


def judge_forks(
    engine: Engine, lenses: dict[int, LayerLens], prompts: Sequence[str],
    progress: Progress = ignore, doing: str = "judging forks",
) -> "dict[int, Judged]":
    """Decode the prompts with two proposers and watch what each lens makes of the forks."""
    watching = WatchingExact(engine.parts, lenses)
    steps = [(name, prompt) for name in JUDGED_PROPOSERS for prompt in prompts]
    for number, (name, prompt) in enumerate(steps):
        proposer = PROPOSERS[name](JUDGED, engine.parts)
        watching.proposer = name
        for _ in engine.run_parts((proposer, watching), engine.encode(prompt, raw=False), JUDGED):
            pass
        progress(doing, (number + 1) / len(steps))
    return watching.judged


class Judged:
    """What one lens made of the forks met, by score kind and proposer, and its token ranks."""

    def __init__(self) -> None:
        self.forks: dict[tuple[str, str], list[JudgedFork]] = {
            (kind, who): [] for kind in EARLY_SCORES for who in JUDGED_PROPOSERS
        }
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

    wants_final = True
    proposer = ""

    def __init__(self, parts: ModelParts, lenses: dict[int, LayerLens]):
        super().__init__(JUDGED, parts)
        self.taps = tuple(lenses)
        self.judged = {n: Judged() for n in lenses}
        self._lenses, self._runner = lenses, parts.runner

    def verify(self, context: RoundContext) -> Verdict:
        verdict = super().verify(context)
        tree, own = context.tree, verdict.own_tokens
        paths = [tree.deepest_path(fork) for fork in tree.children(ROOT)]
        agrees = [all(tree.tokens[n] == own[tree.parents[n]] for n in path) for path in paths]
        for n, lens in self._lenses.items():
            judge = EarlyJudge(self._runner, lens, context, n)
            self.judged[n].add_root(judge.root_logits, own[ROOT])
            for kind in EARLY_SCORES:
                self.judged[n].forks[kind, self.proposer] += [
                    JudgedFork(judge.features(kind, p), a) for p, a in zip(paths, agrees)
                ]
        return verdict
