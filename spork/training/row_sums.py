"""A sum over many rows whose intermediate results are wide: taken some rows at a time, gradient and all.

Draft logits are thousands wide. Kept for a whole batch until the backward pass they are most of a
training step's memory and, on a CPU, most of its time; here each few rows' gradient is taken at
once and only what flows back to the rows is kept. The idea is that of fused linear cross-entropy
(Wijmans et al. 2024, "Cut Your Losses in Large-Vocabulary Language Models", arXiv:2411.09009).
"""

from __future__ import annotations

from typing import Any, Callable

import torch

#: Rows taken at once: enough for a matrix product to be efficient, few enough for a processor's cache.
ROWS = 256

OfRows = Callable[[torch.Tensor, slice], torch.Tensor]


def sum_over_rows(of_rows: OfRows, rows: torch.Tensor) -> torch.Tensor:
    """The sum of `of_rows(rows[part], part)`, 0-d, over slices `part` of `rows` [n, width], differentiable in `rows`."""
    return _RowSum.apply(rows, of_rows)


class _RowSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, of_rows: OfRows) -> torch.Tensor:
        total, gradient = rows.new_zeros((), dtype=torch.float32), torch.empty_like(rows)
        for start in range(0, len(rows), ROWS):
            part = slice(start, start + ROWS)
            piece = rows[part].detach().requires_grad_()
            with torch.enable_grad():
                value = of_rows(piece, part)
            gradient[part] = torch.autograd.grad(value, piece)[0]
            total += value.detach()
        ctx.save_for_backward(gradient)
        return total

    @staticmethod
    def backward(ctx: Any, above: torch.Tensor) -> tuple[torch.Tensor, None]:
        (gradient,) = ctx.saved_tensors
        return above * gradient, None
