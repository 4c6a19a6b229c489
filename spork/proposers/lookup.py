"""Prompt lookup: continue as the text did after the longest earlier match of its own ending.

Source of the method: Saxena 2023, "Prompt Lookup Decoding"; the matches come from a suffix
automaton. K forks are the K different tokens that followed, longest match first, the latest place
first within a length.
"""

from __future__ import annotations

from typing import Sequence

from ..config import SporkConfig
from ..matches import Matches
from ..parts import ModelParts
from ..round_context import RoundContext
from ..tree import ROOT
from .base import Proposer


class Lookup(Proposer):
    name = "lookup"
    summary = "the longest earlier match of the text's own ending: free, strong on repetitive text"

    def __init__(self, config: SporkConfig, parts: ModelParts):
        self._matches = Matches()

    def begin(self, prompt: Sequence[int]) -> None:
        self._matches.append(prompt)

    def committed(self, tokens: Sequence[int]) -> None:
        self._matches.append(tokens)

    def trust_in_match(self) -> float:
        """How often the longest match is expected to hold for one more token; 0 where there is none."""
        return self._matches.trust()

    def propose(self, context: RoundContext) -> None:
        if context.depth == 0:
            return
        left = 1.0  # chance that none of the forks offered so far holds
        for (token, first), *rest in self._matches.paths(context.depth):
            context.tree.add_path([token, *(t for t, _ in rest)], [first * left, *(p for _, p in rest)])
            left *= 1 - first
            if len(context.tree.children(ROOT)) == context.k:
                return
