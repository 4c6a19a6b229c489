"""Ridge regression from sums of products, so that the text never has to fit in memory at once."""

from __future__ import annotations

import torch


class Ridge:
    """Fits y = W x + b in closed form. Accumulates in float64; W is shrunk, b is not."""

    def __init__(self, inputs: int, outputs: int):
        self._xx = torch.zeros(inputs + 1, inputs + 1, dtype=torch.float64)
        self._xy = torch.zeros(inputs + 1, outputs, dtype=torch.float64)
        self.rows = 0

    def add(self, x: torch.Tensor, y: torch.Tensor) -> None:
        """Add rows: x [n, inputs], y [n, outputs]."""
        # A chunk's products are exact enough in float32, and several times faster; sums are not.
        x = torch.cat([x, x.new_ones(len(x), 1)], dim=1).float().cpu()
        self._xx += x.T @ x
        self._xy += x.T @ y.float().cpu()
        self.rows += len(x)

    def solve(self, strength: float = 1e-3) -> tuple[torch.Tensor, torch.Tensor]:
        """(weight [outputs, inputs], bias [outputs]), float32.

        `strength` is relative to the mean variance of the inputs, so it suits any scale.
        """
        inputs = len(self._xx) - 1
        penalty = strength * self._xx.diagonal()[:inputs].mean()
        regular = self._xx.clone()
        regular.diagonal()[:inputs] += penalty
        solution = torch.linalg.solve(regular, self._xy)
        return solution[:inputs].T.float().contiguous(), solution[inputs].float().contiguous()
