"""Arithmetic: what matrix products are computed in on a CPU, told by timing and not by a name.

Half-precision products run fast on processors that have instructions for them and very slowly on
those that do not, and a name says little about either. So the products in question are timed, on
weights that the processor's caches no longer hold, as a pass finds them: for a model, a pass over a
small tree, where speculation lives; for a drafter, a draft of two levels. What is drafted need only
be likely, so a drafter's weights may be int8 too, one scale a row of them: half the bytes to read.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Sequence

import torch

from .packed import Linear, MakeLinear, linear

#: Rows of a model's timed products: a small tree and its root.
TREE_ROWS = (8,)
#: Rows of a drafter's, one level after another: the root, then the forks that are gone on with.
DRAFT_ROWS = (1, 4)
#: Another arithmetic than float32, which is the exact one, must be at least this much faster than the one before it.
MARGIN = 0.9
#: Below this width a product takes no longer than calling it, and there is nothing to gain.
SMALLEST_WIDTH = 256
#: Bytes read to empty the processor's caches of everything else.
EVICTED = 192 * 2**20

#: Weights, [out, in] each.
Shapes = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Arithmetic:
    """`make` turns a weight [out, in] and a bias [out] or None, of any dtype, into a product of rows in `dtype`."""

    name: str
    dtype: torch.dtype
    make: MakeLinear


def in_dtype(dtype: torch.dtype) -> Arithmetic:
    """Weights and rows in one dtype."""
    return Arithmetic(
        str(dtype).removeprefix("torch."), dtype,
        lambda weight, bias: linear(weight.to(dtype), bias.to(dtype) if bias is not None else None),
    )


def int8_linear(weight: torch.Tensor, bias: torch.Tensor | None) -> Linear:
    """x weightᵀ + bias for rows in bfloat16, weights rounded to int8 with one scale for each of their rows.

    The kernel takes no ragged shapes; such weights are multiplied in bfloat16.
    """
    if weight.shape[0] % 16 or weight.shape[1] % 32:
        return BFLOAT16.make(weight, bias)
    whole = weight.float()
    scale = whole.abs().amax(dim=1).clamp_min(torch.finfo(torch.float32).tiny) / 127
    rounded, scale = (whole / scale[:, None]).round().to(torch.int8), scale.to(torch.bfloat16)
    bias = bias.to(torch.bfloat16) if bias is not None else None

    def product(x: torch.Tensor) -> torch.Tensor:
        rows = torch._weight_int8pack_mm(x.reshape(-1, x.shape[-1]).contiguous(), rounded, scale)
        rows = rows if bias is None else rows + bias
        return rows.view(*x.shape[:-1], -1)

    return product


FLOAT32, BFLOAT16 = in_dtype(torch.float32), in_dtype(torch.bfloat16)
INT8 = Arithmetic("int8", torch.bfloat16, int8_linear)


def fastest_cpu_dtype(config: Any) -> torch.dtype:
    """float32, or bfloat16 where a pass of a model with this config is clearly faster in it."""
    config = config.get_text_config()
    width = config.hidden_size
    inner = min(getattr(config, "intermediate_size", None) or 4 * width, 16 * width)
    return fastest_for(((inner, width), (width, inner)), TREE_ROWS, (FLOAT32, BFLOAT16)).dtype


def fastest_for_drafts(shapes: Shapes) -> Arithmetic:
    """What a drafter with weights of these shapes drafts fastest in."""
    return fastest_for(shapes, DRAFT_ROWS, (FLOAT32, BFLOAT16, INT8))


@lru_cache(maxsize=None)
@torch.inference_mode()
def fastest_for(shapes: Shapes, rows: tuple[int, ...], choices: tuple[Arithmetic, ...], repeats: int = 5) -> Arithmetic:
    """The first of `choices`, or a later one that is clearly faster than those before it in products of `rows` rows with such weights."""
    best, *others = choices
    if min(map(min, shapes)) < SMALLEST_WIDTH:
        return best
    best_time = _seconds(shapes, rows, best, repeats)
    for other in others:
        if (seconds := _seconds(shapes, rows, other, repeats)) < MARGIN * best_time:
            best, best_time = other, seconds
    return best


def _seconds(shapes: Shapes, rows: Sequence[int], arithmetic: Arithmetic, repeats: int) -> float:
    """What the products take at best: all of them with as many rows as `rows` first says, then with the next."""
    products = [(arithmetic.make(torch.zeros(shape), None), shape[1]) for shape in shapes]
    work = [(product, torch.zeros(n, width, dtype=arithmetic.dtype)) for n in rows for product, width in products]
    elsewhere = torch.zeros(EVICTED // 4)
    best = float("inf")
    for _ in range(repeats + 1):
        elsewhere.sum()
        start = time.perf_counter()
        for product, x in work:
            product(x)
        best = min(best, time.perf_counter() - start)
    return best
