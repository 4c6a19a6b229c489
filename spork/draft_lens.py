"""DraftLens: a fitted lens ready to draft for one model, on its device."""

from __future__ import annotations

import torch

from .draft_vocabulary import DraftVocabulary
from .lens import Lens, StateMap
from .packed import Linear
from .runner import ModelRunner


class DraftLens:
    """States after the lens's `draft_layers` in, what stands in for the final ones out."""

    def __init__(self, lens: Lens, runner: ModelRunner, vocabulary: DraftVocabulary):
        self.lens, self.layers, self.vocabulary = lens, lens.draft_layers, vocabulary
        self._device, self._arithmetic = runner.device, vocabulary.arithmetic
        maps = lens.layers[self.layers]
        self._plain, self._informed = self._ready(maps.plain), self._ready(maps.informed)

    def _ready(self, fitted: StateMap) -> Linear:
        return self._arithmetic.make(fitted.weight.to(self._device), fitted.bias.to(self._device))

    def final_state(self, tapped: torch.Tensor, before: torch.Tensor | None = None) -> torch.Tensor:
        """Predicted final states [n, width] in the arithmetic's dtype, as `LayerLens.final_state` gives them."""
        tapped = tapped.to(self._device, self._arithmetic.dtype)
        if before is None:
            return self._plain(tapped)
        return self._informed(torch.cat([tapped, before.to(tapped)], dim=-1))
