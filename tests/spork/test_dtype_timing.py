"""The dtype of a CPU: what was timed decides, with a margin for float32, and nothing small is timed."""

from __future__ import annotations

import pytest
import torch

from spork import dtype_timing
from spork.dtype_timing import fastest_cpu_dtype, fastest_for
from tests.tiny import tiny_model

WIDE = ((1024, 512), (512, 1024))


@pytest.fixture(autouse=True)
def nothing_timed_before():
    fastest_for.cache_clear()
    yield
    fastest_for.cache_clear()


@pytest.mark.parametrize("share, expected", [(0.5, torch.bfloat16), (0.95, torch.float32), (3.0, torch.float32)])
def test_bfloat16_must_be_clearly_faster(monkeypatch, share, expected):
    seconds = {torch.float32: 1.0, torch.bfloat16: share}
    monkeypatch.setattr(dtype_timing, "_seconds", lambda shapes, rows, dtype, repeats: seconds[dtype])
    assert fastest_for(WIDE, 4) == expected


def test_narrow_products_are_not_timed(monkeypatch):
    monkeypatch.setattr(dtype_timing, "_seconds", lambda *_: pytest.fail("timed"))
    assert fastest_for(((1024, 48), (48, 1024)), 4) == torch.float32
    assert fastest_cpu_dtype(tiny_model("llama").model.config) == torch.float32


def test_what_is_timed_grows_with_the_work():
    few, many = (dtype_timing._seconds(((512, 512),) * n, 4, torch.float32, 3) for n in (1, 16))
    assert 0 < few < many
