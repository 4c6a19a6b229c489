"""PhaseClock: where a round's time went, with the device waited for at every boundary."""

from __future__ import annotations

import time

import torch

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
        self.ms = dict.fromkeys(PHASES, 0.0)
        self._phase = "other"
        wait_for(device)
        self._since = time.perf_counter()

    def enter(self, phase: str) -> None:
        wait_for(self._device)
        now = time.perf_counter()
        self.ms[self._phase] += 1000 * (now - self._since)
        self._phase, self._since = phase, now

    def stop(self) -> dict[str, float]:
        """Milliseconds by phase; their sum is the round's wall time."""
        self.enter("other")
        return self.ms
