"""Masks: who a row of a pass may look at, in the form transformers' attention takes."""

from __future__ import annotations

from typing import Sequence

import torch


class MaskBuilder:
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
