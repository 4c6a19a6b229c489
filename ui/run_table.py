"""The runs under way, so that Stop reaches the right one."""

from __future__ import annotations

import threading


class RunTable:
    """The runs under way, by an id nobody can guess, so that Stop reaches the right one."""

    def __init__(self) -> None:
        self._runs: dict[str, tuple[threading.Event, threading.Event]] = {}
        self._lock = threading.Lock()

    def add(self, run: str) -> threading.Event:
        """Register a run; return its cancel event."""
        cancel, ended = threading.Event(), threading.Event()
        with self._lock:
            self._runs[run] = (cancel, ended)
        return cancel

    def remove(self, run: str) -> None:
        with self._lock:
            cancel, ended = self._runs.pop(run, (None, None))
        if ended:
            ended.set()

    def stop(self, run: str, patience: float) -> bool:
        """Cancel a run and give it `patience` seconds to end by itself; True when it has ended."""
        with self._lock:
            cancel, ended = self._runs.get(run, (None, None))
        if cancel is None or ended is None:
            return True
        cancel.set()
        return ended.wait(patience)

    def __len__(self) -> int:
        with self._lock:
            return len(self._runs)
