"""ModelRunner: one forward pass of the model over chain or tree rows that share the prefix cache.

The contract: this file and kv_cache.py are the only places that touch a transformers cache, mask
or forward signature; everything above speaks of tokens, positions and slots. A pass never leaves
anything behind on the model: hooks are removed when the pass ends, however it ends.
"""

from __future__ import annotations

import inspect
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Iterator, Sequence

import torch

from .errors import ModelError
from .kv_cache import TreeCache

PREFILL_CHUNK = 512  # rows a prefill pass holds; bounds the mask and the logits


@dataclass
class PassOutput:
    """What one pass over n rows computed; None where it was not asked for or not reached.

    `logits` [rows kept, vocab] float32, soft-caps and scales of the model's own head applied.
    `tapped[N]` [n, width]: the residual stream after the first N layers, for each N asked for.
    `final` [rows kept, width]: the input of lm_head, after the final norm.
    """

    logits: torch.Tensor | None = None
    tapped: dict[int, torch.Tensor] = field(default_factory=dict)
    final: torch.Tensor | None = None


class _LeaveEarly(Exception):
    """Raised by a hook to end a pass once the layer it needs has run."""


class ModelRunner:
    """Runs passes over one model and owns its TreeCache.

    Raises ModelError on construction for a model this engine cannot run.
    """

    def __init__(self, model: torch.nn.Module):
        self.model = model
        parameters = inspect.signature(model.forward).parameters
        refuse_unsupported(model, parameters)
        self.layers = decoder_layers(model)
        self.cache = TreeCache(len(self.layers))
        self._cache_name = "cache" if "cache" in parameters else "past_key_values"
        self._limits_logits = "logits_to_keep" in parameters
        self._masks = _MaskBuilder(model)
        self.device = model.get_input_embeddings().weight.device
        #: Position in the text of the token in each cache slot.
        self._positions: list[int] = []

    @property
    def length(self) -> int:
        """Tokens whose keys and values are committed."""
        return self.cache.length

    @torch.inference_mode()
    def reset(self, capacity: int) -> None:
        """Start a new text with room for `capacity` tokens, scratch included."""
        self.cache.clear()
        self.cache.reserve(capacity)
        self._positions = []

    def close(self) -> None:
        """Give the cache's memory back."""
        self.cache.release()
        self._positions = []

    def prefill(
        self, tokens: Sequence[int], *, logits: bool, want_final: bool = False
    ) -> Iterator[tuple[Sequence[int], PassOutput]]:
        """Commit a chain in bounded chunks; yields each chunk with its rows.

        Without `logits`, those and the final states are of each chunk's last row only.
        """
        for start in range(0, len(tokens), PREFILL_CHUNK):
            chunk = tokens[start : start + PREFILL_CHUNK]
            yield chunk, self.forward(chunk, trunk=len(chunk), ancestors=(), keep_all=logits, want_final=want_final)

    @torch.inference_mode()
    def forward(
        self,
        tokens: Sequence[int],
        *,
        trunk: int,
        ancestors: Sequence[Sequence[int]],
        positions: Sequence[int] = (),
        taps: Sequence[int] = (),
        stop_after_taps: bool = False,
        keep_all: bool = True,
        want_final: bool = False,
    ) -> PassOutput:
        """One pass. The first `trunk` tokens continue the committed chain and are committed; the
        rest are tree nodes and stay scratch.

        `ancestors[i]` holds the scratch slots that tree row i may see besides the committed
        tokens, the trunk and itself; `positions[i]` its position. each N in `taps` asks for
        the state after the first N layers; with `stop_after_taps` no layer after the last of them
        is run, nothing is committed and the rows' slots hold nothing for those layers.
        `keep_all=False` computes logits for the last row only.
        """
        start = self.cache.cursor
        if trunk and start != self.cache.length:
            raise AssertionError("a trunk must continue the committed tokens")
        row_positions = [*range(start, start + trunk), *positions]
        self._positions[start:] = row_positions
        self.cache.reserve(start + len(tokens))
        kwargs: dict[str, Any] = {
            "input_ids": torch.tensor([list(tokens)], device=self.device),
            "position_ids": torch.tensor([row_positions], device=self.device),
            "attention_mask": self._masks.build(start, trunk, self.cache.length, ancestors, self._positions),
            self._cache_name: self.cache,
            "use_cache": True,
        }
        if not keep_all and self._limits_logits:
            kwargs["logits_to_keep"] = 1
        output = self._call(kwargs, taps, stop_after_taps, keep_all, want_final)
        if trunk and not stop_after_taps:
            self.cache.commit(trunk)
        self.cache.cursor = start + len(tokens)
        return output

    def _call(
        self, kwargs: dict[str, Any], taps: Sequence[int], stop_after_taps: bool, keep_all: bool, want_final: bool
    ) -> PassOutput:
        output = PassOutput()

        def on_layer(count: int, result: Any) -> None:
            hidden = result[0] if isinstance(result, tuple) else result
            output.tapped[count] = hidden.reshape(-1, hidden.shape[-1])
            if stop_after_taps and count == max(taps):
                raise _LeaveEarly

        def on_head(module: Any, args: Any) -> None:
            output.final = args[0].reshape(-1, args[0].shape[-1])

        with ExitStack() as hooks:
            for count in taps:
                handle = self.layers[count - 1].register_forward_hook(
                    lambda module, args, result, count=count: on_layer(count, result)
                )
                hooks.callback(handle.remove)
            if want_final:
                handle = self.model.get_output_embeddings().register_forward_pre_hook(on_head)
                hooks.callback(handle.remove)
            try:
                logits = self.model(**kwargs).logits[0]
            except _LeaveEarly:
                return output
        output.logits = (logits if keep_all else logits[-1:]).float()
        return output

    @torch.inference_mode()
    def keep(self, slots: Sequence[int]) -> None:
        """Commit these scratch slots in order, drop all others."""
        self._positions[self.cache.length :] = [self._positions[s] for s in slots]
        self.cache.keep(slots)

    def head(self, hidden: torch.Tensor) -> torch.Tensor:
        """Logits [n, vocab] float32 of states that stand in for the final one [n, width].

        The model's own lm_head, with the soft-cap or scale its config names.
        """
        logits = self.model.get_output_embeddings()(hidden).float()
        config = self.model.config
        if scale := getattr(config, "logit_scale", None):  # Cohere
            logits = logits * scale
        if scaling := getattr(config, "logits_scaling", None):  # Granite
            logits = logits / scaling
        if cap := getattr(config, "final_logit_softcapping", None):  # Gemma 2
            logits = torch.tanh(logits / cap) * cap
        return logits


class _MaskBuilder:
    """Additive 4D masks [1, 1, rows, slots]: 0 where a row may look, the dtype's minimum elsewhere.

    Always explicit, never the kernel's own causal mask: a tree row's place in the cache says
    nothing about what it may see. A model that mixes sliding and full layers gets one mask a kind.
    """

    def __init__(self, model: torch.nn.Module):
        config = model.config.get_text_config()
        self._dtype = model.dtype
        self._device = model.get_input_embeddings().weight.device
        kinds = set(getattr(config, "layer_types", None) or ())
        window = getattr(config, "sliding_window", None)
        if getattr(config, "use_sliding_window", True) is False:
            window = None
        self._window = window
        self._mixed = len(kinds) > 1
        self._all_sliding = window is not None and (not kinds or kinds == {"sliding_attention"})

    def build(
        self, start: int, trunk: int, length: int, ancestors: Sequence[Sequence[int]], positions: Sequence[int]
    ) -> torch.Tensor | dict[str, torch.Tensor]:
        rows = trunk + len(ancestors)
        seen = torch.zeros(rows, start + rows, dtype=torch.bool)
        seen[:, :length] = True
        if trunk:
            block = torch.ones(rows, trunk, dtype=torch.bool)
            seen[:, start : start + trunk] = block.tril()
        for i, slots in enumerate(ancestors):
            seen[trunk + i, [*slots, start + trunk + i]] = True
        if not self._mixed:
            return self._additive(self._windowed(seen, start, positions) if self._all_sliding else seen)
        return {
            "full_attention": self._additive(seen),
            "sliding_attention": self._additive(self._windowed(seen, start, positions)),
        }

    def _windowed(self, seen: torch.Tensor, start: int, positions: Sequence[int]) -> torch.Tensor:
        at = torch.tensor(positions)
        return seen & (at[start:, None] - at[None, :] < self._window)

    def _additive(self, seen: torch.Tensor) -> torch.Tensor:
        mask = torch.zeros(seen.shape, dtype=self._dtype).masked_fill_(~seen, torch.finfo(self._dtype).min)
        return mask[None, None].to(self._device)


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
