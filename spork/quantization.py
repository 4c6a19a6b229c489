"""Weight-only int8: a quarter of float32's memory, another model's text, and a speed that depends on the kernel.

The weights of the decoder's linear layers are kept as int8 with one scale a row and computed with
in the model's dtype, by torchao through transformers' own quantisation config. It is not lossless
against the unquantised model, but speculation on top of it is: exact at tau 1 gives what the
quantised model itself writes greedily. What a pass over several rows costs with these kernels is
timed like everything else (prices.py), and the tree shrinks where it is dear.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Iterator

from .errors import ModelError

if TYPE_CHECKING:
    import torch

QUANTIZATIONS = ("none", "int8")


def check_quantization(name: str) -> None:
    """Raise ModelError for an unknown name, or where the package it needs is not installed."""
    if name not in QUANTIZATIONS:
        raise ModelError(f"unknown quantization {name!r}; allowed: {', '.join(QUANTIZATIONS)}")
    if name != "none" and find_spec("torchao") is None:
        raise ModelError(f"quantization {name} needs the package torchao; install it with: pip install torchao")


def quantization_options(name: str) -> dict[str, Any]:
    """What `from_pretrained` takes to quantise while it loads."""
    if name == "none":
        return {}
    from torchao.quantization import Int8WeightOnlyConfig
    from transformers import TorchAoConfig

    return {"quantization_config": TorchAoConfig(quant_type=Int8WeightOnlyConfig())}


def stored_tensors(weight: torch.Tensor) -> Iterator[torch.Tensor]:
    """The plain tensors that hold a weight in memory: itself, or a quantised one's values and scales."""
    if hasattr(weight, "__tensor_flatten__"):
        for name in weight.__tensor_flatten__()[0]:
            yield from stored_tensors(getattr(weight, name))
    else:
        yield weight
