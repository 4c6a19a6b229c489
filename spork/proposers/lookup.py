"""Prompt lookup: continue as the text did after the longest earlier match of its own ending.

Source of the method: Saxena 2023, "Prompt Lookup Decoding". K forks are the K different first
tokens found, longest match first, the most recent match first within a length.
"""

from __future__ import annotations

from typing import Sequence

from ..config import SporkConfig
from ..parts import ModelParts
from ..round_context import RoundContext
from .base import Proposer

LONGEST_MATCH = 8
#: Earlier places remembered per n-gram: enough for K different continuations, bounded memory.
PLACES = 16


class Lookup(Proposer):
    name = "lookup"
    summary = "the longest earlier match of the text's own ending: free, strong on repetitive text"

    def __init__(self, config: SporkConfig, parts: ModelParts):
        self._text: list[int] = []
        #: n-gram -> positions just after its earlier occurrences, most recent last.
        self._places: dict[tuple[int, ...], list[int]] = {}

    def begin(self, prompt: Sequence[int]) -> None:
        self._text, self._places = [], {}
        self.committed(prompt)

    def committed(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            # Index what ended *before* this token: it now has a continuation, the token itself.
            end = len(self._text)
            for size in range(1, min(LONGEST_MATCH, end) + 1):
                places = self._places.setdefault(tuple(self._text[end - size : end]), [])
                places.append(end)
                del places[:-PLACES]
            self._text.append(token)

    def propose(self, context: RoundContext) -> None:
        if context.depth == 0:
            return
        firsts: set[int] = set()
        for size in range(min(LONGEST_MATCH, len(self._text)), 0, -1):
            for place in reversed(self._places.get(tuple(self._text[-size:]), [])):
                path = self._text[place : place + context.depth]
                if path[0] not in firsts:
                    firsts.add(path[0])
                    context.tree.add_path(path)
                if len(firsts) == context.k:
                    return
