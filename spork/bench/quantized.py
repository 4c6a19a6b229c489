"""What quantising does to speed, memory and text: both models greedily on the same prompts, in turns."""

from __future__ import annotations

import statistics
from typing import Any, Sequence

import torch

from ..baseline import shared_tokens
from ..engine import Engine
from ..metrics import ratio
from ..progress import Progress
from ..quantization import stored_tensors
from .contenders import Run, engine_greedy
from .measure import WARM_UP_TOKENS, Prompt, rate


def effect(engine: Engine, whole: Engine, prompts: Sequence[Prompt], tokens: int, progress: Progress) -> dict[str, Any]:
    """The quantised `engine` against `whole`, the same model unquantised.

    `speed` is the ratio of their greedy tokens/s; `first_differences` holds, for every prompt whose
    texts differ, how many tokens they share.
    """
    both = [engine_greedy(engine).run, engine_greedy(whole).run]
    runs: list[list[Run]] = [[], []]
    for run in both:
        run(engine.encode(prompts[0].text, raw=False), WARM_UP_TOKENS)
    for i, prompt in enumerate(prompts):
        ids = engine.encode(prompt.text, raw=False)
        for which in (0, 1) if i % 2 == 0 else (1, 0):
            runs[which].append(both[which](ids, tokens))
        progress("against the unquantised model", (i + 1) / len(prompts))
    quantised, unquantised = map(rate, runs)
    shared = [shared_tokens(a.tokens, b.tokens) for a, b in zip(*runs) if a.tokens != b.tokens]
    return {
        "weight_bytes": weight_bytes(engine.loaded.model), "unquantised_weight_bytes": weight_bytes(whole.loaded.model),
        "speed": ratio(quantised or 0, unquantised or 0), "prompts": len(prompts), "identical_prompts": len(prompts) - len(shared),
        "first_differences": shared,
    }


def weight_bytes(model: torch.nn.Module) -> int:
    """What the weights take in memory."""
    return sum(part.numel() * part.element_size() for weight in model.parameters() for part in stored_tensors(weight))


def line(found: dict[str, Any], name: str) -> str:
    """The effect in one sentence."""
    of, differ = found["prompts"], found["first_differences"]
    parted = f"; the others part after {statistics.median(differ):g} tokens (median)" if differ else ""
    return (
        f"{name} against the model as it was: weights {found['weight_bytes'] / 1e6:.0f} MB instead of "
        f"{found['unquantised_weight_bytes'] / 1e6:.0f} MB, greedy {found['speed']:.2f} times as fast, "
        f"the same text on {found['identical_prompts']} of {of} prompts{parted}"
    )
