"""How many first layers `early-exit` should draft with: the fastest on this machine, timed.

Fewer layers draft more cheaply and more wrongly; where the two balance depends on the device, so
nothing but a clock can tell. Each depth takes turns with greedy on the same prompts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Sequence

from ..config import SporkConfig
from ..engine import Engine
from ..lens import Lens
from ..progress import Progress

#: A small tree, drafted whole: what is timed is the drafting, not the controller's judgement of it.
TIMED = SporkConfig(proposer="early-exit", k=4, m=1, budget="full", max_new_tokens=32)
PROMPTS = 3


def time_draft_layers(engine: Engine, lens: Lens, prompts: Sequence[str], progress: Progress) -> dict[int, float]:
    """Speed of `early-exit` against greedy for each depth the lens has, over a few prompts."""
    kept = engine.parts.lens
    seconds = dict.fromkeys([0, *lens.layers], 0.0)  # 0 is greedy; all write the same text
    chosen = prompts[:PROMPTS]
    try:
        for i, prompt in enumerate(chosen):
            ids = engine.encode(prompt, raw=False)
            for layers in seconds:
                engine.parts.lens = replace(lens, draft_layers=layers or lens.draft_layers)
                *_, finished = engine.run_ids(ids, TIMED, plain=layers == 0)
                seconds[layers] += finished.metrics["decode_s"]
            progress("timing early-exit", (i + 1) / len(chosen))
    finally:
        engine.parts.lens = kept
    return {layers: seconds[0] / taken for layers, taken in seconds.items() if layers}
