"""PhaseClock: where a round's time went.

On a CUDA device phases are told apart by events in the device's own stream, so that timing never
makes host and device wait for each other inside a round; the clock is read once, when the round is
over. Elsewhere the device is waited for at every boundary. Each phase is also a named range in a
profiler's trace.
"""

from __future__ import annotations

import time

import torch
from torch.profiler import record_function

from .metrics import PHASES


def wait_for(device: torch.device) -> None:
    """Block until the device has done everything asked of it, so that a clock reads true."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


class PhaseClock:
    """Splits one round into phases. Starts when made; `enter` closes the phase before."""

    def __init__(self, device: torch.device):
        self._device = device
        self._marks: list[tuple[str, float | torch.cuda.Event]] = []
        self._range: record_function | None = None
        wait_for(device)
        self._start = time.perf_counter()
        self.enter("other")

    def enter(self, phase: str) -> None:
        self._marks.append((phase, self._now()))
        self._name_range(phase)

    def stop(self) -> dict[str, float]:
        """Milliseconds by phase; their sum is the round's wall time."""
        end = self._now()
        wait_for(self._device)
        wall_ms = 1000 * (time.perf_counter() - self._start)
        self._name_range(None)
        ms = dict.fromkeys(PHASES, 0.0)
        for (phase, begin), (_, after) in zip(self._marks, [*self._marks[1:], ("", end)]):
            ms[phase] += self._between(begin, after)
        # What the device's events do not cover is the host's time around them.
        ms["other"] += max(0.0, wall_ms - sum(ms.values()))
        return ms

    def _now(self) -> float | torch.cuda.Event:
        if self._device.type == "cuda":
            event = torch.cuda.Event(enable_timing=True)
            event.record(torch.cuda.current_stream(self._device))
            return event
        wait_for(self._device)
        return time.perf_counter()

    @staticmethod
    def _between(begin: float | torch.cuda.Event, after: float | torch.cuda.Event) -> float:
        if isinstance(begin, float):
            return 1000 * (after - begin)
        return begin.elapsed_time(after)

    def _name_range(self, phase: str | None) -> None:
        if self._range is not None:
            self._range.__exit__(None, None, None)
        self._range = record_function(phase) if phase else None
        if self._range is not None:
            self._range.__enter__()
