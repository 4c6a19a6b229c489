"""A sum taken some rows at a time: the same value and the same gradients as in one piece."""

from __future__ import annotations

import pytest
import torch

from spork.training.row_sums import ROWS, sum_over_rows


@pytest.mark.parametrize("rows", [1, ROWS - 1, ROWS, ROWS + 1, 3 * ROWS])
def test_value_and_gradient_are_those_of_one_piece(rows):
    torch.manual_seed(rows)
    weight, scale = torch.randn(50, 8), torch.rand(rows)
    enter = torch.randn(8, 8, requires_grad=True)
    x = torch.randn(rows, 8)

    def of_rows(states: torch.Tensor, part: slice) -> torch.Tensor:
        return (scale[part] * (states @ weight.T).logsumexp(dim=-1)).sum()

    whole = 3 * of_rows(x @ enter, slice(0, rows))
    expected = torch.autograd.grad(whole, enter)[0]
    parts = 3 * sum_over_rows(of_rows, x @ enter)
    torch.testing.assert_close(parts, whole)
    torch.testing.assert_close(torch.autograd.grad(parts, enter)[0], expected)


def test_no_slice_is_wider_than_its_share():
    met: list[int] = []

    def of_rows(states: torch.Tensor, part: slice) -> torch.Tensor:
        met.append(len(states))
        return states.sum()

    sum_over_rows(of_rows, torch.ones(2 * ROWS + 5, 3, requires_grad=True)).backward()
    assert met == [ROWS, ROWS, 5]


def test_what_is_summed_may_compute_in_half_precision():
    x = torch.randn(ROWS + 3, 8, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        sum_over_rows(lambda states, part: torch.nn.functional.linear(states, torch.ones(4, 8)).float().sum(), x).backward()
    assert x.grad.dtype == torch.float32 and torch.allclose(x.grad, torch.full_like(x, 4.0))
