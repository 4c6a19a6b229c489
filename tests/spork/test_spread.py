"""A model that accelerate has spread over devices, or part of which it keeps on disk, decodes all the same."""

from __future__ import annotations

import pytest
import torch
from accelerate import dispatch_model

from spork.engine import Engine
from spork.models import load_model, wrap
from tests.spork.decode import PROMPT, decode, transformers_greedy
from tests.tiny import tiny_model


@pytest.mark.parametrize("family", ["llama", "gpt2"])
@pytest.mark.parametrize("offloaded", ["layer", "all"])
def test_layers_kept_on_disk_change_nothing(family, offloaded, tmp_path):
    whole = tiny_model(family)
    ids = Engine(whole).encode(PROMPT, raw=True)
    expected = transformers_greedy(whole, ids, 20)
    parts = {name: "cpu" for name, _ in whole.model.named_children()}
    if offloaded == "all":
        parts = {name: "disk" for name in parts}
    else:
        stack, layers = ("model", "layers") if family == "llama" else ("transformer", "h")
        parts.pop(stack)
        for name, child in getattr(whole.model, stack).named_children():
            if name == layers:
                parts |= {f"{stack}.{name}.{i}": "disk" if i == 1 else "cpu" for i in range(len(child))}
            else:
                parts[f"{stack}.{name}"] = "cpu"
    spread = dispatch_model(tiny_model(family).model, parts, main_device="cpu", offload_dir=tmp_path, force_hooks=True)
    engine = Engine(wrap("spread", spread, whole.tokenizer))
    assert engine.loaded.device == torch.device("cpu")
    for proposer in ("full-model", "recycling", "auto"):
        assert decode(engine, ids, proposer=proposer, k=3, m=2, max_new_tokens=20).token_ids == expected


def test_the_device_spread_loads_through_accelerate(tmp_path):
    loaded = tiny_model("llama")
    loaded.model.save_pretrained(tmp_path), loaded.tokenizer.save_pretrained(tmp_path)
    spread = load_model(str(tmp_path), device="spread", dtype="float32")
    engine = Engine(spread)
    ids = engine.encode(PROMPT, raw=True)
    assert decode(engine, ids, max_new_tokens=10).token_ids == transformers_greedy(loaded, ids, 10)
