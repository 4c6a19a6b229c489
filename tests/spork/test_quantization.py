"""int8 weights: less memory, and speculation that gives what the quantised model itself writes."""

from __future__ import annotations

import json

import pytest
import torch

from spork.cli import main
from spork.engine import Engine
from spork.errors import ModelError
from spork.models import load_model
from spork.quantization import check_quantization
from tests.spork.decode import PROMPT, decode, transformers_greedy
from tests.tiny import tiny_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    loaded, path = tiny_model("llama", hidden_size=64), tmp_path_factory.mktemp("int8")
    loaded.model.save_pretrained(path), loaded.tokenizer.save_pretrained(path)
    return str(path)


def test_speculation_is_lossless_on_top_of_it(folder):
    plain, loaded = load_model(folder, dtype="float32"), load_model(folder, dtype="float32", quantize="int8")
    weight = loaded.model.model.layers[0].mlp.up_proj.weight
    assert type(weight) is not type(plain.model.model.layers[0].mlp.up_proj.weight), "it is quantised"
    engine = Engine(loaded, load_model(folder, dtype="float32", quantize="int8"))
    ids = engine.encode(PROMPT, raw=True)
    expected = transformers_greedy(loaded, ids, 24)
    for proposer in ("full-model", "recycling", "draft-model", "auto"):
        assert decode(engine, ids, proposer=proposer, k=3, m=3, max_new_tokens=24).token_ids == expected


def test_logits_stay_close_to_those_of_the_whole_weights(folder):
    plain, loaded = load_model(folder, dtype="float32"), load_model(folder, dtype="float32", quantize="int8")
    ids = torch.tensor([Engine(plain).encode(PROMPT, raw=True)])
    with torch.inference_mode():
        ours, theirs = loaded.model(ids).logits, plain.model(ids).logits
    assert not torch.equal(ours, theirs)
    assert (ours - theirs).abs().max() < 0.2 * theirs.std()


def test_the_benchmark_tells_what_it_did_to_speed_memory_and_text(folder, capsys):
    arguments = ["--model", folder, "--dtype", "float32", "--quantize", "int8", "--prompts", "2", "--max-new-tokens", "8", "--only", "greedy", "--json"]
    assert main(["bench", *arguments]) == 0
    printed = capsys.readouterr().out.rstrip("\n").split("\n")
    found = json.loads(printed[-1])["quantization"]
    model = load_model(folder, dtype="float32").model
    assert found["unquantised_weight_bytes"] == sum(p.numel() * 4 for p in model.parameters())
    assert found["weight_bytes"] < found["unquantised_weight_bytes"]
    assert found["speed"] > 0 and found["identical_prompts"] + len(found["first_differences"]) == found["prompts"] == 2
    assert any("the same text on" in line for line in printed)


def test_an_unknown_kind_and_a_missing_package_are_refused(monkeypatch):
    with pytest.raises(ModelError, match="allowed: none, int8"):
        check_quantization("int3")
    monkeypatch.setattr("spork.quantization.find_spec", lambda name: None)
    with pytest.raises(ModelError, match="pip install torchao"):
        check_quantization("int8")
