"""Every figure SPORK shows, each with its one definition.

| figure | formula |
|---|---|
| tokens_per_s | committed tokens / decode seconds; prefill and page time excluded |
| speedup | tokens_per_s / greedy tokens_per_s of the same engine; null without a greedy run |
| acceptance_rate | rounds that accepted a fork / rounds (the article's) |
| token_acceptance | accepted drafted tokens / drafted depth (the field's) |
| mean_jump | tokens committed per accepting round (the article's) |
| tokens_per_round | committed tokens / rounds, bonus counted (the field's mean accepted length) |
| ms_per_round | propose / verify / select / other, mean per round |
| break_even | tokens per round at which speedup is 1: ms per round x greedy tokens per ms |
| jump_histogram | rounds by tokens committed |
| acceptance_by_depth | of rounds that drafted to depth d, the share whose accepted path reached d |
| drafted_by_depth | rounds that drafted to depth d |
| longest_fallback_streak | most fallback rounds in a row |
| peak_memory_bytes | most device memory held (CUDA), else most resident memory of the process |
| parity | identical to the paired run; else first differing position and the logit gap there |

A figure that does not exist is null, never 0.
"""

from __future__ import annotations

import resource
import sys
from collections import Counter
from typing import Any

import torch

PHASES = ("propose", "verify", "select", "other")


def ratio(top: float, bottom: float) -> float | None:
    """top / bottom, or None where there is nothing to divide by."""
    return top / bottom if bottom else None


class Meter:
    """Adds up rounds and gives the figures as they stand.

    `greedy_tokens_per_s` is the rate to compare against, or None.
    """

    def __init__(self, greedy_tokens_per_s: float | None = None):
        self.greedy_tokens_per_s = greedy_tokens_per_s
        self.rounds = self.tokens = 0
        self.seconds = 0.0
        self._accepting = self._accepting_tokens = 0
        self._accepted_depth = self._drafted_depth = 0
        self._phase_ms = dict.fromkeys(PHASES, 0.0)
        self._jumps: Counter[int] = Counter()
        self._drafted_to: Counter[int] = Counter()
        self._accepted_to: Counter[int] = Counter()
        self._streak = self._longest_streak = 0

    def add_round(
        self, *, committed: int, accepted: bool, accepted_depth: int, drafted_depth: int, ms: dict[str, float]
    ) -> None:
        """Count one round: tokens committed, drafted tokens accepted, depth of the tree, phase times."""
        self.rounds += 1
        self.tokens += committed
        self.seconds += sum(ms.values()) / 1000
        for phase in PHASES:
            self._phase_ms[phase] += ms[phase]
        self._jumps[committed] += 1
        self._drafted_depth += drafted_depth
        self._accepted_depth += accepted_depth
        self._drafted_to.update(range(1, drafted_depth + 1))
        self._accepted_to.update(range(1, accepted_depth + 1))
        if accepted:
            self._accepting += 1
            self._accepting_tokens += committed
            self._streak = 0
        else:
            self._streak += 1
            self._longest_streak = max(self._longest_streak, self._streak)

    def running(self) -> dict[str, float | None]:
        """The figures a page shows while the run goes on."""
        rate = ratio(self.tokens, self.seconds)
        greedy = self.greedy_tokens_per_s
        return {
            "tokens": self.tokens,
            "decode_s": self.seconds,
            "tokens_per_s": rate,
            "speedup": rate / greedy if rate is not None and greedy else None,
            "acceptance_rate": ratio(self._accepting, self.rounds),
            "token_acceptance": ratio(self._accepted_depth, self._drafted_depth),
            "mean_jump": ratio(self._accepting_tokens, self._accepting),
            "tokens_per_round": ratio(self.tokens, self.rounds),
        }

    def final(self, *, peak_memory_bytes: int | None, paired: bool | None, parity: dict | None) -> dict[str, Any]:
        """Every figure. `paired` says whether the greedy rate is of this very prompt."""
        ms = {p: ratio(total, self.rounds) for p, total in self._phase_ms.items()}
        per_round = ratio(1000 * self.seconds, self.rounds)
        greedy = self.greedy_tokens_per_s
        figures = self.running()
        figures.pop("tokens")
        return figures | {
            "speedup_paired": paired if figures["speedup"] is not None else None,
            "greedy_tokens_per_s": greedy,
            "rounds": self.rounds,
            "ms_per_round": ms if self.rounds else None,
            "break_even": per_round * greedy / 1000 if per_round is not None and greedy else None,
            "jump_histogram": {str(n): c for n, c in sorted(self._jumps.items())} if self.rounds else None,
            "acceptance_by_depth": [self._accepted_to[d] / self._drafted_to[d] for d in sorted(self._drafted_to)] or None,
            "drafted_by_depth": [self._drafted_to[d] for d in sorted(self._drafted_to)] or None,
            "longest_fallback_streak": self._longest_streak if self.rounds else None,
            "peak_memory_bytes": peak_memory_bytes,
            "parity": parity,
        }


def peak_memory_bytes(device: torch.device) -> int:
    """Most memory held so far, in bytes; see the table above for whose."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
