"""Which dtype to compute in on this CPU: timed, not told from its name.

Half-precision products run fast on processors that have instructions for them and very slowly on
those that do not, and a name says little about either. So the products in question are timed, on
weights that do not stay in the processor's cache: for a model, a pass over a small tree, where
speculation lives; for a fork head, a level of drafting.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import torch

from .packed import linear

#: Rows of a model's timed products: a small tree and its root.
TREE_ROWS = 8
CANDIDATES = (torch.float32, torch.bfloat16)
#: Another dtype than float32, which is the exact one, must be at least this much faster.
MARGIN = 0.9
#: Below this width a product takes no longer than calling it, and there is nothing to gain.
SMALLEST_WIDTH = 256
#: Copies of the weights, taken in turn, so that they do not stay in the processor's cache.
COPIES = 6

#: Weights of one copy, [out, in] each.
Shapes = tuple[tuple[int, int], ...]


def fastest_cpu_dtype(config: Any) -> torch.dtype:
    """float32, or bfloat16 where a pass of a model with this config is clearly faster in it."""
    config = config.get_text_config()
    width = config.hidden_size
    inner = min(getattr(config, "intermediate_size", None) or 4 * width, 16 * width)
    return fastest_for(((inner, width), (width, inner)), TREE_ROWS)


@lru_cache(maxsize=None)
@torch.inference_mode()
def fastest_for(shapes: Shapes, rows: int, repeats: int = 3) -> torch.dtype:
    """float32, or bfloat16 where products of `rows` rows with weights of these shapes are clearly faster in it."""
    if min(map(min, shapes)) < SMALLEST_WIDTH:
        return torch.float32
    times = {dtype: _seconds(shapes, rows, dtype, repeats) for dtype in CANDIDATES}
    best = min(CANDIDATES, key=times.__getitem__)
    return best if times[best] < MARGIN * times[torch.float32] else torch.float32


def _seconds(shapes: Shapes, rows: int, dtype: torch.dtype, repeats: int) -> float:
    """What all copies' products take together, at best."""
    copies = [linear(torch.zeros(shape, dtype=dtype)) for _ in range(COPIES) for shape in shapes]
    inputs = [torch.zeros(rows, width, dtype=dtype) for _ in range(COPIES) for _, width in shapes]
    best = float("inf")
    for _ in range(repeats + 1):
        start = time.perf_counter()
        for product, x in zip(copies, inputs):
            product(x)
        best = min(best, time.perf_counter() - start)
    return best
