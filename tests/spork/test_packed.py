"""Packed weights: the same product, and a model that is as it was when no pass of ours runs."""

from __future__ import annotations

import itertools
from functools import partial

import pytest
import torch
from torch import nn

from spork.packed import PackedModel, can_pack, linear, rows_better_as_they_come
from spork.runner import ModelRunner
from tests.tiny import tiny_model


@pytest.mark.parametrize("rows", [1, 2, 7, 16, 33])
@pytest.mark.parametrize("bias", [True, False])
def test_it_is_the_same_product(rows, bias):
    torch.manual_seed(0)
    layer = nn.Linear(48, 96, bias=bias)
    x = torch.randn(1, rows, 48)
    with torch.inference_mode():
        torch.testing.assert_close(linear(layer.weight, layer.bias)(x), layer(x), rtol=1e-5, atol=1e-5)


def test_float32_weights_are_packed_here():
    """Else the test above would compare a product with itself."""
    assert can_pack(torch.zeros(4, 4))
    assert not can_pack(torch.zeros(4, 4, dtype=torch.float16))


def test_bfloat16_is_packed_where_the_processor_multiplies_it():
    assert can_pack(torch.zeros(4, 4, dtype=torch.bfloat16)) == torch.ops.mkldnn._is_mkldnn_bf16_supported()
    torch.manual_seed(0)
    layer = nn.Linear(48, 96).to(torch.bfloat16)
    with torch.inference_mode():
        for rows in (1, 2, 8, 33):
            x = torch.randn(1, rows, 48, dtype=torch.bfloat16)
            torch.testing.assert_close(linear(layer.weight, layer.bias)(x), layer(x), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("faster_up_to, expected", [(0, 0), (2, 2), (3, 3), (100, 4)])
def test_few_rows_go_whichever_way_is_timed_faster(monkeypatch, faster_up_to, expected):
    """With one disturbed turn in three, as shared machines have."""
    turns = itertools.count()

    def seconds(products, x) -> float:
        packed, rows = not isinstance(products[0], partial), x.shape[0]
        disturbed = 5.0 if next(turns) % 6 == 0 else 1.0
        return disturbed * (1.4 if packed and rows <= faster_up_to else 1.0)

    monkeypatch.setattr("spork.packed._seconds", seconds)
    assert rows_better_as_they_come.__wrapped__(torch.float32) == expected


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_the_model_is_untouched_outside_a_pass(family):
    loaded = tiny_model(family)
    runner = ModelRunner(loaded.model)
    ids = torch.tensor([[5, 6, 7]])
    with torch.inference_mode():
        plain = loaded.model(ids).logits
        with runner.packed:
            inside = loaded.model(ids).logits
        after = loaded.model(ids).logits
    torch.testing.assert_close(inside, plain, rtol=1e-4, atol=1e-4)
    assert torch.equal(after, plain)
    assert not any("forward" in module.__dict__ for module in loaded.model.modules())


def test_a_pass_that_fails_leaves_the_model_untouched():
    loaded = tiny_model("llama")
    packed = PackedModel(loaded.model)
    with pytest.raises(RuntimeError), packed:
        raise RuntimeError
    assert not any("forward" in module.__dict__ for module in loaded.model.modules())


def test_without_memory_for_a_copy_it_does_without(monkeypatch):
    class Full:
        available = 0

    monkeypatch.setattr("spork.packed.psutil.virtual_memory", lambda: Full)
    loaded = tiny_model("llama")
    with PackedModel(loaded.model):
        assert not any("forward" in module.__dict__ for module in loaded.model.modules())
