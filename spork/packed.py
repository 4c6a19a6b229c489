"""Packed weights: matrix products of a few rows on a CPU, at the speed of reading the weights.

Without packing, every product of two or more rows rearranges the whole weight matrix first, so a
pass over two rows costs twice a pass over one and speculation cannot pay. oneDNN can lay a weight
out once, ahead of time; PyTorch's compiler uses the same two operators. Measured on two AVX2 cores
with the shapes of the default model: 1 / 8 rows took 41 / 82 ms as they come, 33 / 52 ms packed. On
two AVX-512 cores it was 54 / 94 against 61 / 80: one row is better left as it comes there. So the
smallest products are timed once a process and dtype, and go whichever way is faster. bfloat16 is
packed where the processor multiplies it itself.

The contract: the model is as it was whenever no pass of ours runs, so transformers' own `generate`
on it is what it always is. A packed copy takes as much memory again, and is made only where that
leaves half of what is free.
"""

from __future__ import annotations

import logging
import time
from functools import lru_cache
from types import TracebackType
from typing import Callable

import psutil
import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

log = logging.getLogger(__name__)

Linear = Callable[[torch.Tensor], torch.Tensor]
#: A product from a weight [out, in] and a bias [out] or None.
MakeLinear = Callable[[torch.Tensor, torch.Tensor | None], Linear]

#: Rows a weight is laid out for; a layout for a few rows serves one row and hundreds as well.
ROWS_HINT = 16


def can_pack(weight: torch.Tensor) -> bool:
    """Whether packing helps: a plain weight (not quantised) on a CPU, in a dtype that oneDNN has products for here."""
    return (
        type(weight.data) is torch.Tensor and weight.device.type == "cpu" and torch.backends.mkldnn.is_available()
        and hasattr(torch.ops.mkldnn, "_linear_pointwise") and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
        and (weight.dtype == torch.float32 or (weight.dtype == torch.bfloat16 and torch.ops.mkldnn._is_mkldnn_bf16_supported()))
    )


def linear(weight: torch.Tensor, bias: torch.Tensor | None = None) -> Linear:
    """x [..., in] → x weightᵀ + bias [..., out], packed where that helps; `weight` is [out, in]."""
    if not can_pack(weight):
        return lambda x: nn.functional.linear(x, weight, bias)
    packed, as_it_comes = _packed(weight, bias), rows_better_as_they_come(weight.dtype)

    def product(x: torch.Tensor) -> torch.Tensor:
        if x.numel() <= as_it_comes * x.shape[-1]:
            return nn.functional.linear(x, weight, bias)
        return packed(x)

    return product


def _packed(weight: torch.Tensor, bias: torch.Tensor | None) -> Linear:
    packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), ROWS_HINT)
    return lambda x: torch.ops.mkldnn._linear_pointwise(x, packed, bias, "none", [], "")


@lru_cache(maxsize=None)
def rows_better_as_they_come(dtype: torch.dtype, most: int = 2, repeats: int = 7) -> int:
    """Up to how many rows, of `most`, a product with an unpacked matrix is faster on this machine; 0 where packed always is.

    Timed on a matrix larger than most caches (57 MB in float32), by the best of `repeats` turns.
    """
    weight = torch.ones(24_576, 576, dtype=dtype)
    ways = (lambda x: nn.functional.linear(x, weight)), _packed(weight, None)
    with torch.inference_mode():
        for rows in range(1, most + 1):
            x = torch.ones(rows, weight.shape[1], dtype=dtype)
            turns = [[_seconds(way, x) for way in ways] for _ in range(repeats + 1)][1:]
            plain, packed = (min(times) for times in zip(*turns))
            if plain >= packed:
                return rows - 1
    return most


def _seconds(way: Linear, x: torch.Tensor) -> float:
    start = time.perf_counter()
    way(x)
    return time.perf_counter() - start


class PackedModel:
    """A context in which a module's linear layers compute from packed copies of their weights, as `make` makes them of those that gain by it."""

    def __init__(self, model: nn.Module, make: MakeLinear = linear, gains: Callable[[torch.Tensor], bool] = can_pack):
        found = [module for module in model.modules() if type(module) in (nn.Linear, Conv1D) and gains(module.weight)]
        size = sum(module.weight.numel() * module.weight.element_size() for module in found)
        if size > psutil.virtual_memory().available / 2:
            log.warning("no memory for a packed copy of the weights (%.1f GB): passes over several tokens will be slower", size / 1e9)
            found = []
        self._forwards = [(module, _packed_forward(module, make)) for module in found]

    def __enter__(self) -> None:
        for module, forward in self._forwards:
            module.__dict__["forward"] = forward

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for module, _ in self._forwards:
            module.__dict__.pop("forward", None)


def _packed_forward(module: nn.Linear | Conv1D, make: MakeLinear) -> Linear:
    if isinstance(module, Conv1D):  # GPT-2's: the same product, its weight [in, out]
        return make(module.weight.t(), module.bias)
    return make(module.weight, module.bias)
