"""Models of a given shape with random weights: what a pass costs does not depend on what they say."""

from __future__ import annotations

import torch

from ..draft_head import DraftHead
from ..engine import Engine
from ..errors import ConfigError
from ..fitted import fingerprints
from ..fork_head import ForkHead, TrainedHead
from ..models import DEFAULT_MODEL, choose_device, choose_dtype, load_model, wrap

#: Llama shapes by name; "tiny" is for trying the benchmark itself.
SHAPES = {
    "tiny": dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=49152),
    "1.5b": dict(hidden_size=1536, intermediate_size=8960, num_hidden_layers=28, num_attention_heads=12, num_key_value_heads=2, vocab_size=151936),
    "8b": dict(hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8, vocab_size=128256),
}  # fmt: skip
DRAFT_TOKENS = 8192


def random_engine(shape: str, device: str, dtype: str) -> Engine:
    """An engine over a random model of this shape, with a random fork head; prompts are the default model's tokens."""
    from transformers import AutoConfig, AutoModelForCausalLM

    if shape not in SHAPES:
        raise ConfigError(f"unknown shape {shape!r}; allowed: {', '.join(SHAPES)}")
    place = choose_device(device)
    tokenizer = load_model(DEFAULT_MODEL, "cpu", "float32").tokenizer
    config = AutoConfig.for_model("llama", **SHAPES[shape], max_position_embeddings=8192, eos_token_id=tokenizer.eos_token_id)
    with place:
        model = AutoModelForCausalLM.from_config(config, dtype=choose_dtype(dtype, place, config))
    engine = Engine(wrap(f"random-{shape}", model.eval().requires_grad_(False), tokenizer))
    head = TrainedHead(ForkHead(config.hidden_size, config.hidden_size), torch.arange(DRAFT_TOKENS), fingerprints(model))
    engine.use_head(DraftHead(head, engine.runner))
    return engine
