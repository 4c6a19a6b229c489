"""DraftHead: a trained fork head ready to draft for one model, on its device.

On a CPU it computes in whichever dtype is faster there, whatever the model's: a level of drafting
is the time it takes to read the head's weights, and what it drafts need not be exact.
"""

from __future__ import annotations

from copy import deepcopy

import torch

from .dtype_timing import fastest_for
from .errors import ModelError
from .fork_head import TrainedHead
from .packed import PackedModel
from .runner import ModelRunner


#: Rows of a drafted level: the forks that are gone on with.
LEVEL_ROWS = 4


class DraftHead:
    """Rows in, draft logits out. Raises ModelError for a head of another shape than the model's."""

    def __init__(self, trained: TrainedHead, runner: ModelRunner):
        width = runner.model.get_output_embeddings().weight.shape[-1]
        if trained.network.width != width:
            raise ModelError(f"the fork head reads states of width {trained.network.width}; this model's are {width} wide")
        self.trained = trained
        self._runner = runner
        self.dtype = _cpu_dtype(trained) if runner.device.type == "cpu" else runner.model.dtype
        self._network = deepcopy(trained.network).to(runner.device, self.dtype)  # `trained` stays as it was
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


def _cpu_dtype(trained: TrainedHead) -> torch.dtype:
    weights = (tuple(p.shape) for p in trained.network.parameters() if p.dim() == 2)
    return fastest_for((*weights, (len(trained.draft_vocab), trained.network.width)), LEVEL_ROWS)
