"""Masks: who a row of a pass may look at, in the form transformers' attention takes."""

from __future__ import annotations

from typing import Sequence

import torch

from .families import main_device


class MaskBuilder:
    """Additive 4D masks [1, 1, rows, slots]: 0 where a row may look, the dtype's minimum elsewhere.

    Always explicit, never the kernel's own causal mask: a tree row's place in the cache says
    nothing about what it may see. A model that mixes sliding and full layers gets one mask a kind.
    """

    def __init__(self, model: torch.nn.Module):
        config = model.config.get_text_config()
        self._dtype = model.dtype
        self._device = main_device(model)
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
        at = torch.tensor(positions)
        return self.additive(seen, at[start:], at)

    def additive(
        self, seen: torch.Tensor, row_positions: torch.Tensor, slot_positions: torch.Tensor
    ) -> torch.Tensor | dict[str, torch.Tensor]:
        """Masks of the form attention takes from who sees which slot (`seen` [rows, slots], bool).

        Positions in the text, of rows [rows] and of what each slot holds [slots], bound the windows.
        """
        if not (self._mixed or self._all_sliding):
            return self._numbers(seen)
        windowed = self._numbers(seen & (row_positions[:, None] - slot_positions[None, :] < self._window))
        return {"full_attention": self._numbers(seen), "sliding_attention": windowed} if self._mixed else windowed

    def _numbers(self, seen: torch.Tensor) -> torch.Tensor:
        mask = torch.zeros(seen.shape, dtype=self._dtype, device=seen.device)
        return mask.masked_fill_(~seen, torch.finfo(self._dtype).min)[None, None].to(self._device)
