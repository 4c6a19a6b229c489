"""Prompt lookup: continue as the text did after the longest earlier match of its own ending.

Source of the method: Saxena 2023, "Prompt Lookup Decoding"; the matches come from a suffix
automaton. K forks are the K different tokens that followed, longest match first, the latest place
first within a length. How far to trust a match of a length is learnt as the text goes on.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Sequence

from ..config import SporkConfig
from ..parts import ModelParts
from ..round_context import RoundContext
from ..suffix_automaton import SuffixAutomaton
from ..tree import ROOT
from .base import Proposer

#: Weight, in matches seen, of the guess that a match of length n holds n times in n + 2.
PRIOR_WEIGHT = 4
#: Matches this long or longer are counted together.
LONGEST_COUNTED = 16


class Lookup(Proposer):
    name = "lookup"
    summary = "the longest earlier match of the text's own ending: free, strong on repetitive text"

    def __init__(self, config: SporkConfig, parts: ModelParts):
        self._automaton = SuffixAutomaton()
        self._tried: dict[int, int] = defaultdict(int)
        self._held: dict[int, int] = defaultdict(int)
        #: (match length, tokens that should follow) of the best match last offered.
        self._offered: tuple[int, list[int]] | None = None

    def begin(self, prompt: Sequence[int]) -> None:
        self.committed(prompt)

    def committed(self, tokens: Sequence[int]) -> None:
        self._learn(tokens)
        for token in tokens:
            self._automaton.append(token)

    def trust_in_match(self) -> float:
        """How often the longest match is expected to hold for one more token; 0 where there is none."""
        length = next((length for length, _ in self._automaton.continuations()), 0)
        return self._trust(length) if length else 0.0

    def propose(self, context: RoundContext) -> None:
        if context.depth == 0:
            return
        left = 1.0  # chance that none of the forks offered so far holds
        for length, place in self._automaton.continuations():
            path = self._automaton.text[place : place + context.depth]
            # A match that goes on is a longer match.
            first, *rest = [self._trust(length + i) for i in range(len(path))]
            context.tree.add_path(path, [first * left, *rest])
            left *= 1 - first
            if self._offered is None:
                self._offered = (length, path)
            if len(context.tree.children(ROOT)) == context.k:
                return

    def _trust(self, length: int) -> float:
        """How often a match of this length went on, seen so far and the prior together."""
        n = min(length, LONGEST_COUNTED)
        return (self._held[n] + PRIOR_WEIGHT * n / (n + 2)) / (self._tried[n] + PRIOR_WEIGHT)

    def _learn(self, tokens: Sequence[int]) -> None:
        if self._offered is None:
            return
        length, path = self._offered
        self._offered = None
        for i, (drafted, written) in enumerate(zip(path, tokens)):
            n = min(length + i, LONGEST_COUNTED)
            self._tried[n] += 1
            self._held[n] += drafted == written
            if drafted != written:
                return
