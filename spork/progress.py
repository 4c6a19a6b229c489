"""How long work reports itself: a callback, or a bar on the terminal.

A callback takes (message, fraction): fraction runs from 0 to 1, or is None when it is unknown.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import Callable, Iterator, TextIO

Progress = Callable[[str, float | None], None]


def ignore(message: str, fraction: float | None) -> None:
    """The callback that says nothing."""


@contextmanager
def shown(progress: Progress | None, stream: TextIO | None = None) -> Iterator[Progress]:
    """Yield `progress`, or where it is None one that writes to the terminal (standard error).

    A terminal gets a bar that moves; a log gets one line for each step and each tenth of it.
    """
    if progress is not None:
        yield progress
        return
    stream = stream or sys.stderr
    reporter = _Bar(stream) if stream.isatty() else _Lines(stream)
    try:
        yield reporter.report
    finally:
        reporter.close()


class _Bar:
    def __init__(self, stream: TextIO) -> None:
        self.stream, self.bar, self.message = stream, None, ""

    def report(self, message: str, fraction: float | None) -> None:
        from tqdm import tqdm

        if message != self.message:
            self.close()
            if fraction is None:
                self.stream.write(message + "\n")
                return
            self.bar = tqdm(total=100, desc=message, file=self.stream, bar_format="{desc} |{bar}| {n:.0f} %")
            self.message = message
        if self.bar is not None and fraction is not None:
            self.bar.n = 100 * fraction
            self.bar.refresh()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
        self.bar, self.message = None, ""


class _Lines:
    def __init__(self, stream: TextIO) -> None:
        self.stream, self.last = stream, ("", 0)

    def report(self, message: str, fraction: float | None) -> None:
        step = (message, int(10 * (fraction or 0)))
        if step == self.last:
            return
        self.last = step
        percent = "" if fraction is None else f" {10 * step[1]} %"
        self.stream.write(f"{message}{percent}\n")
        self.stream.flush()

    def close(self) -> None:
        pass
