"""What products are computed in on a CPU: timing decides, with a margin for what is exact, and nothing small is timed."""

from __future__ import annotations

import pytest
import torch

from spork import arithmetic
from spork.arithmetic import BFLOAT16, FLOAT32, INT8, fastest_cpu_dtype, fastest_for, fastest_for_drafts
from tests.tiny import tiny_model

WIDE = ((1024, 512), (512, 1024))


@pytest.fixture(autouse=True)
def nothing_timed_before():
    fastest_for.cache_clear()
    yield
    fastest_for.cache_clear()


def timed(monkeypatch, **seconds: float) -> None:
    monkeypatch.setattr(arithmetic, "_seconds", lambda shapes, rows, choice, repeats: seconds[choice.name])


@pytest.mark.parametrize("share, expected", [(0.5, BFLOAT16), (0.95, FLOAT32), (3.0, FLOAT32)])
def test_bfloat16_must_be_clearly_faster(monkeypatch, share, expected):
    timed(monkeypatch, float32=1.0, bfloat16=share)
    assert fastest_for(WIDE, (4,), (FLOAT32, BFLOAT16)) is expected


@pytest.mark.parametrize("bfloat16, int8, expected", [
    (0.5, 0.3, INT8), (0.5, 0.48, BFLOAT16), (3.0, 0.8, INT8), (3.0, 0.95, FLOAT32), (0.5, 2.0, BFLOAT16),
])
def test_a_drafter_may_compute_in_int8_where_that_is_clearly_faster_still(monkeypatch, bfloat16, int8, expected):
    timed(monkeypatch, float32=1.0, bfloat16=bfloat16, int8=int8)
    assert fastest_for_drafts(WIDE) is expected


def test_narrow_products_are_not_timed(monkeypatch):
    monkeypatch.setattr(arithmetic, "_seconds", lambda *_: pytest.fail("timed"))
    assert fastest_for_drafts(((1024, 48), (48, 1024))) is FLOAT32
    assert fastest_cpu_dtype(tiny_model("llama").model.config) == torch.float32


def test_a_models_own_products_are_never_int8():
    config = tiny_model("llama").model.config
    config.hidden_size, config.intermediate_size = 512, 1024
    assert fastest_cpu_dtype(config) in (torch.float32, torch.bfloat16)


def test_what_is_timed_grows_with_the_work():
    few, many = (arithmetic._seconds(((512, 512),) * n, (4,), FLOAT32, 3) for n in (1, 16))
    assert 0 < few < many


@pytest.mark.parametrize("choice, within", [(FLOAT32, 1e-5), (BFLOAT16, 2e-2), (INT8, 3e-2)])
@pytest.mark.parametrize("shape", [(96, 64), (8192, 576), (50, 64), (96, 48), (7, 5)])
@pytest.mark.parametrize("with_bias", [True, False])
def test_each_is_the_same_product_within_its_rounding(choice, within, shape, with_bias):
    torch.manual_seed(0)
    weight, bias = torch.randn(shape), torch.randn(shape[0]) if with_bias else None
    product = choice.make(weight, bias)
    with torch.inference_mode():
        for rows in (1, 2, 4, 5, 9):
            x = torch.randn(rows, shape[1])
            got, whole = product(x.to(choice.dtype)), torch.nn.functional.linear(x, weight, bias)
            assert got.dtype == choice.dtype and got.shape == whole.shape
            assert (got.float() - whole).norm() <= within * whole.norm()
        same = torch.randn(1, shape[1]).to(choice.dtype).expand(3, -1)  # rows that share their memory
        assert torch.equal(product(same), product(same.contiguous()))


def test_a_row_of_zeros_stays_one_in_int8():
    weight = torch.randn(96, 64)
    weight[5] = 0
    with torch.inference_mode():
        assert (INT8.make(weight, None)(torch.randn(4, 64).to(torch.bfloat16))[:, 5] == 0).all()
