"""Sampled tokens follow the model's distribution, and the noise belongs to (seed, position)."""

from __future__ import annotations

import math

import pytest
import torch

from spork.config import SporkConfig
from spork.sampling import TokenLaw, favourites


def law(**settings) -> TokenLaw:
    return TokenLaw(SporkConfig(**settings), 1.0)


def test_greedy_leaves_logits_alone():
    logits = torch.tensor([[0.1, 2.0, -1.0]])
    greedy = law()
    assert greedy.rank(greedy.process(logits, [[]]), [5]).equal(logits)


def test_draws_follow_the_softmax():
    """Chi-square over 8000 positions of one row: 4 degrees of freedom, false alarm once in 100,000."""
    logits = torch.tensor([[1.0, 0.5, 0.0, -1.0, 2.0]])
    draws = 8000
    counts = torch.zeros(5)
    sampled = law(temperature=1.0, seed=3)
    for position in range(draws):
        counts[int(sampled.rank(sampled.process(logits, [[]]), [position]).argmax())] += 1
    expected = draws * logits[0].softmax(-1)
    assert float(((counts - expected) ** 2 / expected).sum()) < 28.5


def test_temperature_top_k_and_top_p_shape_the_draw():
    logits = torch.tensor([[3.0, 2.0, 1.0, 0.0]])
    for settings, allowed in (({"top_k": 2}, {0, 1}), ({"top_p": 0.6}, {0}), ({"temperature": 0.01}, {0})):
        sampled = law(**({"temperature": 1.0} | settings))
        drawn = {int(sampled.rank(sampled.process(logits, [[]]), [p]).argmax()) for p in range(300)}
        assert drawn == allowed


def test_noise_depends_on_seed_and_position_alone():
    logits = torch.zeros(1, 50)
    first, again, other = law(temperature=1.0, seed=1), law(temperature=1.0, seed=1), law(temperature=1.0, seed=2)
    at_9 = first.rank(logits, [9])
    again.rank(logits, [3])
    assert again.rank(logits, [9]).equal(at_9)
    assert not first.rank(logits, [10]).equal(at_9)
    assert not other.rank(logits, [9]).equal(at_9)


def test_forgetting_old_noise_changes_nothing():
    sampled = law(temperature=1.0)
    logits = torch.zeros(1, 20)
    before = sampled.rank(logits, [4])
    sampled.forget_before(100)
    assert sampled.rank(logits, [4]).equal(before)


def test_repetition_penalty_looks_at_each_rows_own_path():
    penal = TokenLaw(SporkConfig(), 2.0)
    rows = penal.process(torch.tensor([[1.0, 1.0], [1.0, 1.0]]), [[0], [1]])
    assert rows.tolist() == [[0.5, 1.0], [1.0, 0.5]]


@pytest.mark.parametrize("row", [
    [1.0, 5.0, 5.0, 2.0], [-math.inf, -math.inf, -math.inf], [0.0, math.nan, 7.0], [7.0, math.inf, math.inf],
    [-0.0, 0.0], [3.0], [math.nan, math.nan],
])
def test_the_favourite_is_the_one_that_argmax_finds(row):
    """Ties go to the first, as in transformers' greedy; not-a-number counts as the largest."""
    rows = torch.tensor([row, row[::-1]])
    assert favourites(rows).tolist() == rows.argmax(dim=-1).tolist()
    assert favourites(rows.t().contiguous().t()).tolist() == rows.argmax(dim=-1).tolist(), "whatever the memory's order"
    assert favourites(rows.bfloat16()).tolist() == rows.bfloat16().argmax(dim=-1).tolist()


def test_favourites_of_many_random_rows():
    rows = torch.randn(64, 999)
    assert torch.equal(favourites(rows), rows.argmax(dim=-1))
