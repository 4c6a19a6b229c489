"""Packed weights: matrix products of a few rows on a CPU, at the speed of reading the weights.

Without packing, every product of two or more rows rearranges the whole weight matrix first, so a
pass over two rows costs twice a pass over one and speculation cannot pay. oneDNN can lay a weight
out once, ahead of time; PyTorch's compiler uses the same two operators. Measured on two AVX2 cores
with the shapes of the default model: 1 / 8 rows took 41 / 82 ms as they come, 33 / 52 ms packed. On
two AVX-512 cores 1 / 3 / 4 / 8 / 16 rows took 1.12 / 1.14 / 1.75 / 2.34 / 3.43 ms as they come and 1.60 / 1.61 /
1.60 / 2.13 / 2.65 packed, in products of 16 matrices of 1,536 by 576: up to three are better left there. So the
smallest products are timed once a process and dtype, and go whichever way is faster. bfloat16 is
packed where the processor multiplies it itself.

The contract: the model is as it was whenever no pass of ours runs, so transformers' own `generate`
on it is what it always is. A packed copy takes as much memory again, and is made only where that
leaves half of what is free.
"""

from __future__ import annotations

import logging
import statistics
import time
from functools import lru_cache, partial
from types import TracebackType
from typing import Callable, Sequence

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
#: What the two ways are timed on, and how much longer packed products must take to be left.
TIMED_SHAPE, TIMED_MATRICES, CLEARLY = (1536, 576), 16, 1.05


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
@torch.inference_mode()
def rows_better_as_they_come(dtype: torch.dtype, most: int = 4, turns: int = 9) -> int:
    """Up to how many rows, of `most`, products with unpacked matrices are clearly faster on this machine; 0 where packed ones are.

    Timed on matrices as small models have them, one after another, more of them than most caches hold; by the median of
    what the two ways took in the same turn.
    """
    weights = [torch.ones(TIMED_SHAPE, dtype=dtype) for _ in range(TIMED_MATRICES)]
    plain = [partial(nn.functional.linear, weight=weight) for weight in weights]
    packed = [_packed(weight, None) for weight in weights]
    for rows in range(1, most + 1):
        x = torch.ones(rows, TIMED_SHAPE[1], dtype=dtype)
        ratios = [_seconds(packed, x) / _seconds(plain, x) for _ in range(turns + 1)][1:]
        if statistics.median(ratios) < CLEARLY:
            return rows - 1
    return most


def _seconds(products: Sequence[Linear], x: torch.Tensor) -> float:
    start = time.perf_counter()
    for product in products:
        product(x)
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
