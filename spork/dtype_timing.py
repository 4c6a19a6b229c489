"""Which dtype to compute in on this CPU: timed, not told from its name.

Half-precision products run fast on processors that have instructions for them and very slowly on
those that do not, and a name says little about either. What counts here is a pass over a small
tree, where speculation lives; so that is what is timed, on the shapes of the model to be loaded.
"""

from __future__ import annotations

import time
from typing import Any

import torch

from .packed import linear

#: Rows of the timed products: a small tree and its root.
ROWS = 8
CANDIDATES = (torch.float32, torch.bfloat16)
#: Another dtype than float32, which is the exact one, must be at least this much faster.
MARGIN = 0.9
#: Below this width a product takes no longer than calling it, and there is nothing to gain.
SMALLEST_WIDTH = 256
#: Layers timed at once, so that their weights do not stay in the processor's cache.
LAYERS = 6


@torch.inference_mode()
def fastest_cpu_dtype(config: Any, repeats: int = 3) -> torch.dtype:
    """float32, or bfloat16 where a pass of a model with this config is clearly faster in it."""
    if config.get_text_config().hidden_size < SMALLEST_WIDTH:
        return torch.float32
    times = {dtype: _time_layers(config, dtype, repeats) for dtype in CANDIDATES}
    best = min(CANDIDATES, key=times.__getitem__)
    return best if times[best] < MARGIN * times[torch.float32] else torch.float32


def _time_layers(config: Any, dtype: torch.dtype, repeats: int) -> float:
    """Seconds, at best, of the products of a few layers' feed-forward parts."""
    width = config.get_text_config().hidden_size
    inner = min(getattr(config.get_text_config(), "intermediate_size", None) or 4 * width, 16 * width)
    layers = [[linear(torch.zeros(o, i, dtype=dtype)) for o, i in ((inner, width), (width, inner))] for _ in range(LAYERS)]
    x = torch.zeros(1, ROWS, width, dtype=dtype)
    best = float("inf")
    for _ in range(repeats + 1):
        start = time.perf_counter()
        for up, down in layers:
            down(up(x))
        best = min(best, time.perf_counter() - start)
    return best
