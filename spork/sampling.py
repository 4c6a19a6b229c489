"""TokenLaw: which token the model itself would emit, greedy or sampled, from raw logits.

The contract: the token at a text position depends on the logits there, the seed and the position,
and on nothing else. Sampling takes the argmax of processed log-probabilities plus Gumbel noise
(the Gumbel-max trick, Gumbel 1954; Maddison et al. 2014, arXiv:1411.0030) drawn from (seed,
position), so speculative and plain decoding with one seed give the same text, token by token.
The processors are transformers' own, in the order its `generate` applies them.
"""

from __future__ import annotations

from typing import Sequence

import torch
from transformers import (
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from .config import SporkConfig


class TokenLaw:
    """Processes logits and picks tokens for one run."""

    def __init__(self, config: SporkConfig, repetition_penalty: float):
        """`repetition_penalty` is the one in force, after the model's own default was looked up."""
        self._penalty = (
            RepetitionPenaltyLogitsProcessor(repetition_penalty) if repetition_penalty != 1.0 else None
        )
        self.sampled = config.temperature > 0
        self._temperature, self._seed = config.temperature, config.seed
        self._noise: dict[int, torch.Tensor] = {}
        self._warpers = []
        if self.sampled:
            self._warpers.append(TemperatureLogitsWarper(config.temperature))
            if config.top_k:
                self._warpers.append(TopKLogitsWarper(config.top_k))
            if config.top_p < 1:
                self._warpers.append(TopPLogitsWarper(config.top_p))

    @property
    def reads_prefixes(self) -> bool:
        """Whether `process` looks at the text before a row; else it may be given none."""
        return self._penalty is not None

    def process(self, logits: torch.Tensor, prefixes: Sequence[Sequence[int]]) -> torch.Tensor:
        """Processed logits [n, vocab] for raw ones; `prefixes[i]` is all text before row i's token.

        Where there is nothing to process, the very tensor that was given.
        """
        if self._penalty is not None:
            rows = [
                self._penalty(torch.tensor([list(prefix)], device=logits.device), logits[i : i + 1])
                for i, prefix in enumerate(prefixes)
            ]
            logits = torch.cat(rows)
        for warp in self._warpers:
            logits = warp(None, logits)
        return logits

    def rank(self, processed: torch.Tensor, positions: Sequence[int]) -> torch.Tensor:
        """What the emitted token is the argmax of [n, vocab]: at `positions` of the text."""
        if not self.sampled:
            return processed
        noise = torch.stack([self._noise_at(p, processed.shape[1]) for p in positions])
        return processed + noise.to(processed.device)

    def rank_draft(
        self, logits: torch.Tensor, ids: torch.Tensor, vocab: int, positions: Sequence[int]
    ) -> torch.Tensor:
        """What a drafter's guess is the argmax of [n, v], from its raw logits over the entries `ids` [v] of `vocab`.

        The noise is the one the model's own choice will get there, so a drafter that agrees with
        the model agrees under sampling too. Temperature is applied; the cuts of top-k and top-p
        and the penalty only make tokens less likely, and are left to the model.
        """
        if not self.sampled:
            return logits
        noise = torch.stack([self._noise_at(p, vocab) for p in positions]).to(logits.device)
        return logits / self._temperature + noise[:, ids]

    def _noise_at(self, position: int, vocab: int) -> torch.Tensor:
        """Standard Gumbel noise [vocab] for one position, drawn on the CPU so devices agree."""
        if position not in self._noise:
            # Neighbouring seeds of a Mersenne twister are independent enough only when mixed.
            mixed = (self._seed * 0x9E3779B97F4A7C15 + position * 0xD1B54A32D192ED03) % 2**63
            generator = torch.Generator().manual_seed(mixed)
            uniform = torch.rand(vocab, generator=generator, dtype=torch.float64)
            self._noise[position] = -torch.log(-torch.log(uniform.clamp_min(1e-300))).float()
        return self._noise[position]

    def forget_before(self, position: int) -> None:
        """Drop noise no later round can ask for."""
        for stale in [p for p in self._noise if p < position]:
            del self._noise[stale]


def favourites(ranked: torch.Tensor) -> torch.Tensor:
    """The first index of the largest value of each row [n, vocab], int64 [n].

    On a CPU PyTorch's argmax takes ten times as long as NumPy's (616 µs against 63 for 12 rows of 49,152, on
    two AVX-512 cores), which gives the same in every case, ties and not-a-number included.
    """
    if ranked.device.type == "cpu" and ranked.dtype == torch.float32:
        return torch.from_numpy(ranked.detach().numpy().argmax(axis=-1))
    return ranked.argmax(dim=-1)


def penalty_in_force(config: SporkConfig, model: torch.nn.Module) -> float:
    """The repetition penalty of this run: the config's, else the model's own, as transformers does."""
    if config.repetition_penalty is not None:
        return config.repetition_penalty
    own = getattr(model.generation_config, "repetition_penalty", None)
    return float(own) if own is not None else 1.0
