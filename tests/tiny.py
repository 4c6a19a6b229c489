"""Tiny random models and a tokenizer, built in memory in milliseconds.

The weights are drawn wide enough that logits are far from ties, and from their own generator, so
a seed gives the same model in any order of tests.
"""

from __future__ import annotations

from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from spork.draft_head import DraftHead
from spork.engine import Engine
from spork.fitted import fingerprints
from spork.fork_head import ForkHead, TrainedHead
from spork.lens import LayerLens, Lens, StateMap
from spork.models import LoadedModel, wrap

END_OF_TEXT, IM_START, IM_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"

#: Pairs merged by the tokenizer, in byte-level spelling (Ġ is a space).
MERGES = ["t h", "th e", "Ġ a", "i n", "Ġ the", "e r", "o n"]

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

_LLAMA_LIKE: dict[str, Any] = {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 12,
    "max_position_embeddings": 512,
}
_MIXED_LAYERS = ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]
_GEMMA = {"num_hidden_layers": 4, "sliding_window": 8, "layer_types": _MIXED_LAYERS, "query_pre_attn_scalar": 12}

#: family → (model_type, config values)
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", _LLAMA_LIKE),
    "qwen2": ("qwen2", {**_LLAMA_LIKE, "head_dim": None, "use_sliding_window": False}),
    "qwen3": ("qwen3", {**_LLAMA_LIKE, "head_dim": 16}),
    "mistral": ("mistral", {**_LLAMA_LIKE, "sliding_window": None}),
    "mistral_sliding": ("mistral", {**_LLAMA_LIKE, "sliding_window": 8}),
    "gemma2": (
        "gemma2",
        {**_LLAMA_LIKE, **_GEMMA, "attn_logit_softcapping": 5.0, "final_logit_softcapping": 3.0},
    ),
    "gemma3_text": ("gemma3_text", {**_LLAMA_LIKE, **_GEMMA}),
    "phi": ("phi", {**_LLAMA_LIKE, "head_dim": None, "partial_rotary_factor": 0.5}),
    "phi3": ("phi3", {**_LLAMA_LIKE, "head_dim": None, "original_max_position_embeddings": 512}),
    "gpt2": ("gpt2", {"n_embd": 48, "n_layer": 3, "n_head": 4, "n_positions": 512}),
    "gpt_neox": (
        "gpt_neox",
        {k: v for k, v in _LLAMA_LIKE.items() if k not in ("num_key_value_heads", "head_dim")},
    ),
    "olmo2": ("olmo2", {**_LLAMA_LIKE, "head_dim": None}),
}

#: What the engine must refuse: recurrent state, encoder-decoder, positions it cannot set.
REFUSED: dict[str, dict[str, Any]] = {
    "mamba": {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 4, "expand": 2, "conv_kernel": 4},
    "t5": {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4},
    "bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4},
}


def tiny_tokenizer(chat_template: bool = True, bos: bool = True) -> PreTrainedTokenizerFast:
    """Byte-level BPE: any text round-trips, and an emoji is split over several tokens."""
    pieces = [END_OF_TEXT, IM_START, IM_END] + sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [tuple(pair.split(" ")) for pair in MERGES]
    pieces += ["".join(pair) for pair in merges]
    core = Tokenizer(models.BPE(vocab={piece: i for i, piece in enumerate(pieces)}, merges=merges))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([END_OF_TEXT, IM_START, IM_END])
    names = {"eos_token": IM_END, "additional_special_tokens": [END_OF_TEXT, IM_START]}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, **names, **({"bos_token": END_OF_TEXT} if bos else {}))
    tokenizer.chat_template = CHAT_TEMPLATE if chat_template else None
    return tokenizer


def tiny_model(
    family: str,
    seed: int = 0,
    *,
    tokenizer: PreTrainedTokenizerFast | None = None,
    attention: str | None = None,
    std: float = 0.2,
    **overrides: Any,
) -> LoadedModel:
    """A random float32 model of a family in FAMILIES; `overrides` are config values.

    `attention` is eager or sdpa; None is what `load_model` would take.
    """
    model_type, values = FAMILIES[family]
    return _build(family, model_type, {**values, **overrides}, seed, tokenizer, attention, std)


def refused_model(kind: str, seed: int = 0) -> LoadedModel:
    """A random model of a kind in REFUSED."""
    return _build(kind, kind, REFUSED[kind], seed, None, None, 0.2)


def _build(name, model_type, values, seed, tokenizer, attention, std) -> LoadedModel:
    tokenizer = tokenizer or tiny_tokenizer()
    config = AutoConfig.for_model(
        model_type,
        **{
            "vocab_size": len(tokenizer),
            "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id,
            "pad_token_id": None,
            **{key: value for key, value in values.items() if value is not None or key == "sliding_window"},
        },
    )
    with torch.random.fork_rng(devices=[]):
        model = _blank(config)
    noise = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            if parameter.ndim > 1 or parameter_name.endswith("bias"):
                parameter.normal_(0.0, std if parameter.ndim > 1 else std / 2, generator=noise)
    if attention is None and getattr(config, "attn_logit_softcapping", None):
        attention = "eager"
    if attention is not None:
        model.set_attn_implementation(attention)
    return wrap(f"tiny-{name}", model.eval().requires_grad_(False), tokenizer)


def _blank(config: Any) -> Any:
    if config.is_encoder_decoder:
        from transformers import AutoModelForSeq2SeqLM

        return AutoModelForSeq2SeqLM.from_config(config, dtype=torch.float32)
    return AutoModelForCausalLM.from_config(config, dtype=torch.float32)


def complete_engine(loaded: LoadedModel, *, draft: LoadedModel | None = None, draft_tokens: int | None = None) -> Engine:
    """An engine with every part a proposer can want: a random fork head, a lens, a draft model (by default itself)."""
    engine = Engine(loaded, draft or loaded)
    engine.parts.head = random_head(engine, draft_tokens)
    engine.parts.lens = bare_lens(engine)
    return engine


def random_head(engine: Engine, draft_tokens: int | None = None) -> DraftHead:
    """A head that drafts over the whole vocabulary, or its first ids."""
    weight = engine.loaded.model.get_output_embeddings().weight
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = ForkHead(weight.shape[1], weight.shape[1])
    vocab = torch.arange(draft_tokens or weight.shape[0])
    trained = TrainedHead(network.eval().requires_grad_(False), vocab, fingerprints(engine.loaded.model))
    return DraftHead(trained, engine.runner)


def bare_lens(engine: Engine) -> Lens:
    """A lens of the first layer that hands the state on as it is, uncalibrated."""
    width = engine.loaded.model.get_output_embeddings().weight.shape[1]
    plain = StateMap(torch.eye(width), torch.zeros(width))
    informed = StateMap(torch.eye(width).repeat(1, 2), torch.zeros(width))
    return Lens({1: LayerLens(plain, informed, {}, 0.0, 0.0)}, 1, fingerprints(engine.loaded.model), {})
