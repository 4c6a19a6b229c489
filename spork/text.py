"""Incremental detokenising and stop strings.

The contract: the pieces handed out, joined, are the text; a character split over several tokens
comes out whole with the token that completes it, never as a replacement mark; and nothing that may
still turn out to be part of a stop string is handed out.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Sequence

REPLACEMENT = "\ufffd"


class Detokenizer:
    """Turns a growing list of token ids into text, piece by piece.

    Decodes a short window twice and takes the difference, because what a token prints can depend
    on its left neighbour (leading spaces, merged bytes).
    """

    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer
        self._ids: list[int] = []
        self._start = 0
        self._printed = 0

    def push(self, token: int) -> str:
        """The text this token made printable; empty while a character is incomplete."""
        self._ids.append(token)
        before = self._decode(self._ids[self._start : self._printed])
        after = self._decode(self._ids[self._start :])
        if after.endswith(REPLACEMENT):
            return ""
        self._start, self._printed = self._printed, len(self._ids)
        return after[len(before) :]

    def flush(self) -> str:
        """Whatever whole characters are still held back at the end of the text."""
        before = self._decode(self._ids[self._start : self._printed])
        after = self._decode(self._ids[self._start :])
        return after[len(before) :].rstrip(REPLACEMENT)

    def _decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)


class OutputText:
    """The output as it grows: token ids, the text they print, and where it must stop."""

    def __init__(self, tokenizer: Any, stops: Sequence[str]):
        self._detokenizer = Detokenizer(tokenizer)
        self._stops = stops
        self._all = ""
        self._released = 0
        self._ends: list[int] = []  # characters printed after each token
        self.token_ids: list[int] = []

    @property
    def text(self) -> str:
        """Text handed out so far."""
        return self._all[: self._released]

    def push(self, token: int) -> tuple[str, bool]:
        """Append a token. Returns the text now safe to show, and whether a stop string was met.

        On a stop the text ends just before it, and the ids before the token that reaches into it.
        """
        self.token_ids.append(token)
        searched = len(self._all)
        self._all += self._detokenizer.push(token)
        self._ends.append(len(self._all))
        hit = self._find_stop(searched)
        if hit is not None:
            self._trim(hit)
        return self._release(len(self._all) if hit is not None else self._safe_end()), hit is not None

    def finish(self) -> str:
        """The run is over without a stop string: hand out what was held back."""
        searched = len(self._all)
        self._all += self._detokenizer.flush()
        hit = self._find_stop(searched)
        if hit is not None:
            self._trim(hit)
        return self._release(len(self._all))

    def _find_stop(self, searched: int) -> int | None:
        """Where the earliest stop string begins, looking where one could have become complete."""
        hits = [self._all.find(s, max(self._released, searched - len(s) + 1, 0)) for s in self._stops]
        return min((h for h in hits if h >= 0), default=None)

    def _trim(self, end: int) -> None:
        self._all = self._all[:end]
        kept = sum(1 for e in self._ends if e <= end)
        # A token that printed nothing just before the stop holds the stop's first bytes.
        while kept and self._ends[kept - 1] == (self._ends[kept - 2] if kept > 1 else 0):
            kept -= 1
        del self.token_ids[kept:]
        del self._ends[kept:]

    def _safe_end(self) -> int:
        """Everything but the longest tail that a stop string begins with."""
        held = 0
        for stop in self._stops:
            for size in range(min(len(stop) - 1, len(self._all)), held, -1):
                if self._all.endswith(stop[:size]):
                    held = size
                    break
        return len(self._all) - held

    def _release(self, end: int) -> str:
        piece = self._all[self._released : end]
        self._released = max(end, self._released)
        return piece


def token_label(tokenizer: Any, token: int) -> str:
    """A token's own text for drawing; bytes of a split character are written as <0xE2>."""
    text = tokenizer.decode([token], skip_special_tokens=False, clean_up_tokenization_spaces=False)
    if REPLACEMENT not in text:
        return text
    raw = tokenizer.convert_ids_to_tokens(token)
    alphabet = _byte_alphabet()
    if raw is None:
        return f"<{token}>"
    if all(c in alphabet for c in raw):
        return "".join(f"<0x{alphabet[c]:02X}>" for c in raw)
    return raw


@lru_cache(maxsize=1)
def _byte_alphabet() -> dict[str, int]:
    """The printable stand-ins byte-level BPE uses, back to bytes (GPT-2's convention)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [b for b in range(256) if b not in printable]
    return {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(hidden)}
