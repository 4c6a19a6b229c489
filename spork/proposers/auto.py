"""Auto: a long match in the text where there is one, else the best drafter this model has.

Source of the pairing: Hu et al. 2024, SAM Decoding, arXiv:2411.10666. A match counts as long when
matches of its length have lately gone on more often than not, by a clear margin. The fork head takes
matches into its own tree, of any length, so where a model has one it is all that is needed.
"""

from __future__ import annotations

from typing import Sequence

import torch

from ..config import SporkConfig
from ..parts import ModelParts
from ..round_context import RoundContext
from .base import Proposer
from .draft_model import DraftModel
from .fork_head import ForkHead
from .lookup import Lookup
from .recycling import Recycling

#: A match is followed when it is trusted to hold at least this often for its next token.
TRUSTED = 0.7


class Auto(Proposer):
    name = "auto"
    summary = "the best of what this model has, and a long match in the text where there is one"

    def __init__(self, config: SporkConfig, parts: ModelParts):
        self._lookup = Lookup(config, parts)
        self._other = DraftModel(config, parts) if parts.draft is not None else Recycling(config, parts)
        self.reads_logits = self._other.reads_logits

    @classmethod
    def made_for(cls, config: SporkConfig, parts: ModelParts) -> Proposer:
        return ForkHead(config, parts) if parts.head is not None else cls(config, parts)

    def begin(self, prompt: Sequence[int]) -> None:
        self._lookup.begin(prompt)
        self._other.begin(prompt)

    def saw(self, tokens: Sequence[int], logits: torch.Tensor) -> None:
        self._other.saw(tokens, logits)

    def committed(self, tokens: Sequence[int]) -> None:
        self._lookup.committed(tokens)
        self._other.committed(tokens)

    def propose(self, context: RoundContext) -> None:
        if self._lookup.trust_in_match() >= TRUSTED:
            self._lookup.propose(context)
        else:
            self._other.propose(context)
