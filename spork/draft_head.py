"""DraftHead: a trained fork head ready to draft for one model, on its device.

On a CPU it computes in float32 whatever the model's dtype: half-precision matrix products of a
few rows are slow on most CPUs, and a head is small.
"""

from __future__ import annotations

import torch

from .errors import ModelError
from .fork_head import TrainedHead
from .packed import PackedModel
from .runner import ModelRunner


class DraftHead:
    """Rows in, draft logits out. Raises ModelError for a head of another shape than the model's."""

    def __init__(self, trained: TrainedHead, runner: ModelRunner):
        width = runner.model.get_output_embeddings().weight.shape[-1]
        if trained.network.width != width:
            raise ModelError(f"the fork head reads states of width {trained.network.width}; this model's are {width} wide")
        self.trained = trained
        self._runner = runner
        self.dtype = torch.float32 if runner.device.type == "cpu" else runner.model.dtype
        self._network = trained.network.to(runner.device, self.dtype)
        self._packed = PackedModel(self._network)
        #: Vocabulary entries it drafts over [v], most frequent first.
        self.vocab = trained.draft_vocab.to(runner.device)
        self.full_vocab = runner.model.get_output_embeddings().weight.shape[0]
        self._logits = runner.head_over(self.vocab, self.dtype)

    def start(self, final: torch.Tensor) -> torch.Tensor:
        """States [n, state width] from final hidden states of the model [n, width]."""
        with self._packed:
            return self._network.start(final.to(self.dtype))

    def step(self, states: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """States one token further; `tokens` [n] are vocabulary ids."""
        with self._packed:
            return self._network.step(states, self._runner.embed(tokens).to(self.dtype))

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Raw logits [n, v] float32 over `vocab`, for the token after each state's text."""
        with self._packed:
            return self._logits(self._network.read(states))
