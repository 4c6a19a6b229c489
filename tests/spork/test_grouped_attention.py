"""Attention by groups: the same logits to the last bit, no copies of keys, and transformers as it was afterwards."""

from __future__ import annotations

import pytest
import torch
from transformers.integrations import sdpa_attention

from spork.grouped_attention import GroupedAttention
from spork.runner import ModelRunner
from tests.tiny import tiny_model


def logits_of(runner: ModelRunner) -> torch.Tensor:
    runner.reset(32)
    runner.forward([5, 6, 7, 8, 9, 10, 11], trunk=7, ancestors=())
    return runner.forward([12, 13, 14, 15], trunk=1, ancestors=[[], [8], [8]], positions=[8, 9, 9]).logits


def test_logits_are_the_same_and_nothing_is_repeated(monkeypatch):
    runner = ModelRunner(tiny_model("llama").model)
    assert runner.model.config.num_key_value_heads < runner.model.config.num_attention_heads
    repeated: list[int] = []
    own = sdpa_attention.repeat_kv
    monkeypatch.setattr(sdpa_attention, "repeat_kv", lambda *a: repeated.append(1) or own(*a))
    grouped = logits_of(runner)
    assert not repeated
    runner._grouped._applies = False
    assert torch.equal(logits_of(runner), grouped) and repeated


def test_transformers_is_as_it_was_after_a_pass_even_one_that_fails():
    before = sdpa_attention.use_gqa_in_sdpa
    with GroupedAttention(torch.device("cpu")):
        assert sdpa_attention.use_gqa_in_sdpa is not before
    with pytest.raises(RuntimeError), GroupedAttention(torch.device("cpu")):
        raise RuntimeError
    assert sdpa_attention.use_gqa_in_sdpa is before


def test_a_gpu_is_left_to_transformers():
    with GroupedAttention(torch.device("cuda")):
        assert sdpa_attention.use_gqa_in_sdpa(torch.zeros(1), torch.zeros(1, 1, 1, 64), torch.zeros(1, 1, 1, 64)) is False
