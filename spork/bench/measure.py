"""Measure: every contender on every prompt, taking turns, and the figures that come of it."""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence

import torch

from ..clock import wait_for
from ..engine import Engine, machine_name
from ..fitted import ASSETS
from ..metrics import Meter, peak_memory_bytes, ratio
from ..progress import Progress
from ..quantization import stored_tensors
from .contenders import Contender, Run

PROMPTS = ASSETS / "prompts" / "bench.json"
WARM_UP_TOKENS = 8


@dataclass(frozen=True)
class Prompt:
    kind: str
    text: str


def read_prompts(count: int | None = None, path: Path = PROMPTS) -> list[Prompt]:
    """The benchmark's prompts; of `count`, as many of each kind as can be."""
    by_kind: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    longest = max(map(len, by_kind.values()))
    turns = [Prompt(kind, texts[i]) for i in range(longest) for kind, texts in by_kind.items() if i < len(texts)]
    return turns[:count]


def compare(
    engine: Engine, contenders: Sequence[Contender], prompts: Sequence[Prompt], tokens: int, repeats: int,
    progress: Progress,
) -> list[dict[str, Any]]:
    """One row a contender, in their order; the first is what speed-ups are against.

    Contenders take turns within each prompt, in an order that rotates, so that a slow moment of
    the machine hits each of them as often; every figure that compares is taken within a prompt.
    """
    ids = [engine.encode(prompt.text, raw=False) for prompt in prompts]
    for contender in contenders:
        progress("warming up", None)
        contender.run(ids[0], WARM_UP_TOKENS)
    runs: dict[str, list[list[Run]]] = {c.name: [[] for _ in prompts] for c in contenders}
    peaks: dict[str, int] = {}
    steps = repeats * len(prompts) * len(contenders)
    done = 0
    for repeat in range(repeats):
        for p, prompt_ids in enumerate(ids):
            shift = (repeat + p) % len(contenders)
            for contender in [*contenders[shift:], *contenders[:shift]]:
                runs[contender.name][p].append(contender.run(prompt_ids, tokens))
                peaks[contender.name] = max(peaks.get(contender.name, 0), _peak_of_run(engine.loaded.device))
                done += 1
                progress("benchmark", done / steps)
    base, exact = runs[contenders[0].name], runs.get("hf-greedy", runs[contenders[0].name])
    return [_row(c, runs[c.name], base, exact, peaks[c.name] or None) for c in contenders]


def _peak_of_run(device: torch.device) -> int:
    """Device memory at most held since the last call; 0 where only the whole process is known."""
    if device.type != "cuda":
        return 0
    peak = torch.cuda.max_memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    return peak


def _row(
    contender: Contender, runs: list[list[Run]], base: list[list[Run]], exact: list[list[Run]], peak: int | None
) -> dict[str, Any]:
    rates = [rate(of_prompt) for of_prompt in runs]
    ratios = [r / rate(b) for r, b in zip(rates, base) if r and rate(b)]
    same = [all(run.tokens == e.tokens for run, e in zip(of_prompt, ex)) for of_prompt, ex in zip(runs, exact)]
    return {
        "name": contender.name,
        "tokens_per_s": _median([r for r in rates if r]),
        "tokens_per_s_quartiles": _quartiles([r for r in rates if r]),
        "speedup": _median(ratios),
        "speedup_quartiles": _quartiles(ratios),
        "speedup_total": ratio(rate(sum(runs, [])) or 0, rate(sum(base, [])) or 0),
        "identical": all(same),
        "identical_prompts": sum(same),
        "prompts": len(same),
        "note": contender.note,
        "peak_memory_bytes": peak,
    } | _round_figures(sum(runs, []))


def rate(runs: Sequence[Run]) -> float | None:
    """Tokens a second of all runs together; None where nothing was timed."""
    return ratio(sum(run.timed for run in runs), sum(run.seconds for run in runs))


def _round_figures(runs: Sequence[Run]) -> dict[str, Any]:
    """What the rounds of all runs together come to; null for a contender that shows none."""
    meter = Meter()
    turned_down = 0
    for round_ in (r for run in runs for r in run.rounds):
        meter.add_round(
            committed=len(round_.committed), accepted=round_.decision == "accepted",
            accepted_depth=round_.statuses.count("accepted"),
            drafted_depth=max((len(fork.nodes) for fork in round_.forks), default=0), ms=round_.ms,
        )
        turned_down += round_.turned_down is not None
    figures = meter.final(peak_memory_bytes=None, paired=None, parity=None)
    names = ("tokens_per_round", "acceptance_rate", "acceptance_by_depth", "jump_histogram", "ms_per_round")
    total = sum(figures["ms_per_round"].values()) if figures["ms_per_round"] else None
    return {name: figures[name] for name in names} | {
        "total_ms_per_round": total,
        "turned_down_rounds": ratio(turned_down, meter.rounds),
    }


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _quartiles(values: Sequence[float]) -> list[float] | None:
    if len(values) < 2:
        return None
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return [low, high]


@torch.inference_mode()
def weight_read_floor(engine: Engine, repeats: int = 5) -> dict[str, float]:
    """Time to read every weight a pass reads, once: no one-row pass can be faster.

    An input embedding that is not also the lm_head is left out, as a pass reads only its rows.
    Best of `repeats`, because a floor is what the machine can do.
    """
    model = engine.loaded.model
    tied = model.get_input_embeddings().weight.data_ptr() == model.get_output_embeddings().weight.data_ptr()
    skipped = None if tied else model.get_input_embeddings().weight
    weights = [part.detach() for p in model.parameters() if p is not skipped for part in stored_tensors(p)]
    raw = [w.view(torch.uint8).view(-1) if w.is_contiguous() else w for w in weights]
    words = [r.view(torch.int32) if r.numel() % 4 == 0 else r for r in raw if r.dtype == torch.uint8]
    best = float("inf")
    for _ in range(repeats):
        wait_for(engine.loaded.device)
        start = time.perf_counter()
        for word in words:
            word.max()
        wait_for(engine.loaded.device)
        best = min(best, time.perf_counter() - start)
    size = sum(r.numel() * r.element_size() for r in words)
    return {"weight_bytes": size, "read_ms": 1000 * best, "gb_per_s": size / best / 1e9}


def machine(engine: Engine) -> dict[str, Any]:
    """What the figures were measured on."""
    import platform
    from importlib.metadata import version

    return {
        "device": machine_name(engine.loaded.device), "dtype": engine.loaded.dtype_name,
        "python": platform.python_version(), "torch": torch.__version__, "transformers": version("transformers"),
        "peak_memory_bytes": peak_memory_bytes(engine.loaded.device),
    }
