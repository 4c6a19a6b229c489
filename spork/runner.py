"""ModelRunner: one forward pass of the model over chain or tree rows that share the prefix cache.

The contract: this file, kv_cache.py, masks.py and families.py are the only places that touch a
transformers cache, mask or forward signature; all else speaks of tokens, positions and slots. A pass never leaves
anything behind on the model: hooks are removed when the pass ends, however it ends.
"""

from __future__ import annotations

import inspect
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Sequence

import torch

from .families import decoder_layers, main_device, refuse_unsupported
from .grouped_attention import GroupedAttention
from .kv_cache import TreeCache
from .masks import MaskBuilder
from .packed import MakeLinear, PackedModel

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
        self._masks = MaskBuilder(model)
        #: A context in which the model computes from packed weights, where that helps.
        self.packed = PackedModel(model)
        self.device = main_device(model)
        self._grouped = GroupedAttention(self.device)
        #: What layers of this family return beside the hidden state; None where they return it bare.
        self._extra_results: tuple[Any, ...] | None = None
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
        resume: tuple[int, torch.Tensor] | None = None,
    ) -> PassOutput:
        """One pass. The first `trunk` tokens continue the committed chain and are committed; the
        rest are tree nodes and stay scratch.

        `ancestors[i]` holds the scratch slots that tree row i may see besides the committed
        tokens, the trunk and itself; `positions[i]` its position. each N in `taps` asks for
        the state after the first N layers; with `stop_after_taps` no layer after the last of them
        is run, nothing is committed and the rows' slots hold nothing for those layers.
        `keep_all=False` computes logits for the last row only. `resume=(N, states)` goes on from the
        states [rows, width] that an early pass over these very rows, in these slots, left after N
        layers; those layers are not run again.
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
        output = self._call(kwargs, taps, stop_after_taps, keep_all, want_final, resume)
        if trunk and not stop_after_taps:
            self.cache.commit(trunk)
        self.cache.cursor = start + len(tokens)
        return output

    def _call(
        self, kwargs: dict[str, Any], taps: Sequence[int], stop_after_taps: bool, keep_all: bool, want_final: bool,
        resume: tuple[int, torch.Tensor] | None,
    ) -> PassOutput:
        output = PassOutput()

        def on_layer(count: int, result: Any) -> None:
            hidden = result[0] if isinstance(result, tuple) else result
            self._extra_results = result[1:] if isinstance(result, tuple) else None
            output.tapped[count] = hidden.reshape(-1, hidden.shape[-1])
            if stop_after_taps and count == max(taps):
                raise _LeaveEarly

        def on_head(module: Any, args: Any) -> None:
            output.final = args[0].reshape(-1, args[0].shape[-1])

        with ExitStack() as hooks:
            hooks.enter_context(self.packed)
            hooks.enter_context(self._grouped)
            if resume is not None:
                hooks.enter_context(self._skipping(*resume))
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
    def forward_fixed(
        self, tokens: torch.Tensor, positions: torch.Tensor, slots: torch.Tensor, seen: torch.Tensor,
        slot_positions: torch.Tensor,
    ) -> PassOutput:
        """One pass whose shapes are all that the host knows of it: everything else is on the device.

        Rows `tokens` [n] at `positions` [n] are written to `slots` [n] and see the slots that `seen`
        [n, tier] marks; `slot_positions` [tier] are the positions of what the slots hold. Final states
        come with the logits. The host's cursor and positions are left as they are.
        """
        kwargs = {
            "input_ids": tokens[None], "position_ids": positions[None],
            "attention_mask": self._masks.additive(seen, positions, slot_positions),
            self._cache_name: self.cache, "use_cache": True,
        }
        self.cache.fixed = (slots, seen.shape[1])
        try:
            return self._call(kwargs, (), False, True, True, None)
        finally:
            self.cache.fixed = None

    def advance(self, count: int) -> None:
        """A pass of fixed shape has committed `count` more tokens behind the last one."""
        length = self.cache.length + count
        self._positions[self.cache.length :] = range(self.cache.length, length)
        self.cache.commit(count)
        self.cache.cursor = length

    @contextmanager
    def _skipping(self, count: int, states: torch.Tensor) -> Iterator[None]:
        """The first `count` layers hand their input on, and the next one reads `states` [rows, width]."""
        extra = self._extra_results

        def hand_on(hidden_states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            return hidden_states if extra is None else (hidden_states, *[None] * len(extra))

        def read_states(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
            if args:
                return (states[None].to(args[0].dtype), *args[1:]), kwargs
            return args, kwargs | {"hidden_states": states[None]}

        skipped = self.layers[:count]
        handle = self.layers[count].register_forward_pre_hook(read_states, with_kwargs=True)
        try:
            for layer in skipped:
                layer.__dict__["forward"] = hand_on
            yield
        finally:
            handle.remove()
            for layer in skipped:
                layer.__dict__.pop("forward", None)

    @torch.inference_mode()
    def rewind(self, start: int, slots: Sequence[int]) -> None:
        """Move these scratch slots together, from slot `start` on, and write from there again.

        What they hold stays until it is overwritten: so an early pass is gone on from, layer by layer.
        """
        self._positions[start:] = [self._positions[s] for s in slots]
        self.cache.rewind(start, slots)

    @torch.inference_mode()
    def keep(self, slots: Sequence[int]) -> None:
        """Commit these scratch slots in order, drop all others."""
        self._positions[self.cache.length :] = [self._positions[s] for s in slots]
        self.cache.keep(slots)

    def head(self, hidden: torch.Tensor) -> torch.Tensor:
        """Logits [n, vocab] float32 of states that stand in for the final one [n, width].

        The model's own lm_head, with the soft-cap or scale its config names.
        """
        with self.packed:
            return self._scaled(self.model.get_output_embeddings()(hidden))

    def head_over(self, ids: torch.Tensor, make: MakeLinear) -> Callable[[torch.Tensor], torch.Tensor]:
        """`head` for the vocabulary entries `ids` [v] alone: a function from [n, width] to [n, v] float32.

        `make` makes its product, and says what dtype that takes.
        """
        lm_head = self.model.get_output_embeddings()
        weight, bias = lm_head.weight, getattr(lm_head, "bias", None)
        at = ids.to(weight.device)  # of a spread model lm_head may lie on another device than its drafters
        bias = bias[at].to(ids.device) if bias is not None else None
        project = make(weight[at].to(ids.device), bias)
        return lambda hidden: self._scaled(project(hidden))

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        """Input embeddings [n, width] of token ids [n]."""
        return self.model.get_input_embeddings()(tokens)

    def _scaled(self, logits: torch.Tensor) -> torch.Tensor:
        logits, config = logits.float(), self.model.config.get_text_config()
        if scale := getattr(config, "logit_scale", None):  # Cohere
            logits = logits * scale
        if scaling := getattr(config, "logits_scaling", None):  # Granite
            logits = logits / scaling
        if cap := getattr(config, "final_logit_softcapping", None):  # Gemma 2
            logits = torch.tanh(logits / cap) * cap
        return logits
