"""Families: what a model must have to be run here, told by its shape and not by its name."""

from __future__ import annotations

from typing import Any

import torch

from .errors import ModelError


def main_device(model: torch.nn.Module) -> torch.device:
    """Where the model takes its input: its embedding's device, or where accelerate runs that one."""
    embedding = model.get_input_embeddings()
    execution = getattr(getattr(embedding, "_hf_hook", None), "execution_device", None)
    return torch.device(execution if execution is not None else embedding.weight.device)


def weights_at_hand(module: torch.nn.Module) -> bool:
    """Whether a module's weights lie in memory where code of ours can read them: not offloaded."""
    return not any(parameter.is_meta for parameter in module.parameters())


def decoder_layers(model: torch.nn.Module) -> torch.nn.ModuleList:
    """The list of decoder layers, by what every family shares: one entry a hidden layer."""
    count = model.config.get_text_config().num_hidden_layers
    for module in model.modules():
        if isinstance(module, torch.nn.ModuleList) and len(module) == count:
            return module
    raise ModelError(f"{type(model).__name__} has no list of {count} decoder layers that SPORK can find")


def refuse_unsupported(model: torch.nn.Module, parameters: Any) -> None:
    """Raise ModelError, with the reason and what to use instead, for what cannot work."""
    name, config = type(model).__name__, model.config
    instead = "use a decoder-only model with full attention, such as Llama, Qwen, Mistral, Gemma, Phi or GPT-2"
    kinds = set(getattr(config.get_text_config(), "layer_types", None) or ())
    if getattr(config, "is_encoder_decoder", False):
        raise ModelError(f"{name} is an encoder-decoder model; {instead}")
    if getattr(model, "_is_stateful", False) or kinds - {"full_attention", "sliding_attention"}:
        raise ModelError(f"{name} keeps a recurrent or compressed state that cannot take back a rejected fork; {instead}")
    if "position_ids" not in parameters:
        raise ModelError(f"{name} takes no position_ids, so forks at one depth cannot share a position; {instead}")
    if not {"cache", "past_key_values"} & set(parameters):
        raise ModelError(f"{name} takes no key-value cache; {instead}")
    if model.get_output_embeddings() is None:
        raise ModelError(f"{name} has no lm_head to read tokens from; load it as a causal language model")
    attention = getattr(config, "_attn_implementation", "eager")
    if attention not in ("eager", "sdpa"):
        raise ModelError(f"attention kernel {attention!r} takes no tree mask; load the model with 'sdpa' or 'eager'")
