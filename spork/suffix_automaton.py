"""SuffixAutomaton: how the text went on after every earlier occurrence of its own ending.

Blumer et al. 1985; online construction, amortised constant time a token, so linear in the text.
For drafting from it: Hu et al. 2024, "SAM Decoding", arXiv:2411.10666. Plain Python over ints.
"""

from __future__ import annotations

from typing import Iterator

#: How far up the suffix links an occurrence is noted as the most recent; keeps a token's cost bounded.
NOTED_LINKS = 16


class SuffixAutomaton:
    """The automaton of a text that only ever grows.

    A state stands for substrings with the same set of end positions; `_longest` is the length of
    the longest of them, `_link` the state of the longest suffix that occurs in other places too.
    """

    def __init__(self) -> None:
        self.text: list[int] = []
        self._longest = [0]
        self._link = [-1]
        self._next: list[dict[int, int]] = [{}]
        #: Where an occurrence of the state ended: index of the token after it. The latest one noted.
        self._end = [0]
        self._whole = 0  # state of the whole text

    def append(self, token: int) -> None:
        self.text.append(token)
        new = self._add_state(len(self.text), len(self.text))
        state = self._whole
        while state != -1 and token not in self._next[state]:
            self._next[state][token] = new
            state = self._link[state]
        if state == -1:
            self._link[new] = 0
        else:
            self._link[new] = self._split(state, token)
        self._whole = new
        self._note_end(new)

    def continuations(self) -> Iterator[tuple[int, int]]:
        """(length of the match, index in `text` where it went on), one for each token that ever followed.

        The longest earlier match of the text's ending first; within a length the latest place
        first. Each first token comes once.
        """
        seen: set[int] = set()
        state = self._link[self._whole]
        while state > 0:
            places = [(self._end[after] - 1, token) for token, after in self._next[state].items() if token not in seen]
            for place, token in sorted(places, reverse=True):
                seen.add(token)
                yield self._longest[state], place
            state = self._link[state]

    def _split(self, state: int, token: int) -> int:
        """The state of `state`'s longest string plus `token`, cloned out of a longer one if need be."""
        after = self._next[state][token]
        if self._longest[after] == self._longest[state] + 1:
            return after
        clone = self._add_state(self._longest[state] + 1, self._end[after])
        self._next[clone] = dict(self._next[after])
        self._link[clone] = self._link[after]
        while state != -1 and self._next[state].get(token) == after:
            self._next[state][token] = clone
            state = self._link[state]
        self._link[after] = clone
        return clone

    def _add_state(self, longest: int, end: int) -> int:
        self._longest.append(longest)
        self._link.append(-1)
        self._next.append({})
        self._end.append(end)
        return len(self._longest) - 1

    def _note_end(self, state: int) -> None:
        """The text's end is now the latest occurrence of its suffixes."""
        for _ in range(NOTED_LINKS):
            if state <= 0:
                return
            self._end[state] = len(self.text)
            state = self._link[state]
