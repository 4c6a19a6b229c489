"""DraftHead: a trained fork head ready to draft for one model, on its device.

On a CPU it computes in whichever arithmetic is fastest there, whatever the model's dtype: a level of
drafting is the time it takes to read the head's weights, and what it drafts need not be exact.
"""

from __future__ import annotations

from copy import deepcopy

import torch

from .arithmetic import Arithmetic, fastest_for_drafts, in_dtype
from .draft_vocabulary import DraftVocabulary
from .errors import ModelError
from .fork_head import TrainedHead
from .packed import PackedModel
from .runner import ModelRunner


class DraftHead:
    """Final states and tokens in, what stands in for later final states out. Raises ModelError for a head of another shape than the model's."""

    def __init__(self, trained: TrainedHead, runner: ModelRunner):
        width = runner.model.get_output_embeddings().weight.shape[-1]
        if trained.network.width != width:
            raise ModelError(f"the fork head reads states of width {trained.network.width}; this model's are {width} wide")
        self.trained = trained
        self._runner = runner
        arithmetic = _fastest(trained) if runner.device.type == "cpu" else in_dtype(runner.model.dtype)
        #: Entries it drafts over, most frequent first.
        self.vocabulary = DraftVocabulary(runner, trained.draft_vocab, arithmetic)
        self._network = deepcopy(trained.network).to(runner.device, arithmetic.dtype)  # `trained` stays as it was
        self._packed = PackedModel(self._network, arithmetic.make, gains=lambda weight: True)

    def start(self, final: torch.Tensor) -> torch.Tensor:
        """States [n, state width] from final hidden states of the model [n, width]."""
        with self._packed:
            return self._network.start(final.to(self.vocabulary.arithmetic.dtype))

    def step(self, states: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """States one token further; `tokens` [n] are vocabulary ids."""
        with self._packed:
            return self._network.step(states, self._runner.embed(tokens).to(self.vocabulary.arithmetic.dtype))

    def read(self, states: torch.Tensor) -> torch.Tensor:
        """What stands in for final hidden states [n, width]: `vocabulary` says which tokens come after each state's text."""
        with self._packed:
            return self._network.read(states)


def _fastest(trained: TrainedHead) -> Arithmetic:
    weights = (tuple(p.shape) for p in trained.network.parameters() if p.dim() == 2)
    return fastest_for_drafts((*weights, (len(trained.draft_vocab), trained.network.width)))
