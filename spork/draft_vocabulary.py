"""DraftVocabulary: the tokens that drafters guess among, and the product that scores them.

A drafted token need not be exact, only likely, and a few thousand tokens are nearly all that a model
writes. So drafters read those rows of lm_head alone: for a small model the whole of it is a fifth
of a pass. Source of the idea: Zhao et al. 2025, FR-Spec, arXiv:2502.14856.
"""

from __future__ import annotations

from typing import Sequence

import torch

from .arithmetic import Arithmetic, in_dtype
from .runner import ModelRunner
from .sampling import TokenLaw


class DraftVocabulary:
    """`ids` [v] of a vocabulary of `full` entries, on the model's device; all of them by default.

    `arithmetic` is what its drafters compute in, the model's own dtype by default.
    """

    def __init__(self, runner: ModelRunner, ids: torch.Tensor | None = None, arithmetic: Arithmetic | None = None):
        self.full = runner.model.get_output_embeddings().weight.shape[0]
        self.arithmetic = arithmetic or in_dtype(runner.model.dtype)
        if ids is None:
            self.ids, self._product = torch.arange(self.full, device=runner.device), runner.head
        else:
            self.ids = ids.to(runner.device)
            self._product = runner.head_over(self.ids, self.arithmetic.make)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Raw logits [n, v] float32 of what stands in for final hidden states [n, width], in the arithmetic's dtype."""
        return self._product(hidden)

    def log_p(self, hidden: torch.Tensor, law: TokenLaw, positions: Sequence[int]) -> torch.Tensor:
        """Log-probabilities [n, v] of a run's tokens at `positions` of the text, its noise included."""
        return law.rank_draft(self.logits(hidden), self.ids, self.full, positions).log_softmax(dim=-1)
