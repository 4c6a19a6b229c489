"""The account: whatever a drafter costs and however it fares, it can lose only so much."""

from __future__ import annotations

import random

import pytest

from spork.account import ALLOWED, MOST, START, Account


def lost(rounds: int, drafted_round, seed: int = 0) -> tuple[float, int]:
    """Plain rounds' time lost against plain decoding, and tries made, by one who drafts whenever the account allows it."""
    rng, account, balance, tries = random.Random(seed), Account(), 0.0, 0
    for number in range(rounds):
        account.round()
        if account.overdrawn:
            continue
        tokens, cost = drafted_round(number, rng)
        account.drafted(tokens, cost)
        balance += tokens - cost
        tries += 1
    return -balance, tries


@pytest.mark.parametrize("cost", [1.02, 1.3, 1.8, 4.0])
@pytest.mark.parametrize("p", [0.0, 0.01, 0.3])
def test_a_losing_drafter_loses_its_allowance_and_one_try_at_most(p, cost):
    for rounds in (20, 60, 600):
        for seed in range(20):
            loss, _ = lost(rounds, lambda _, rng: (1 + (rng.random() < p), cost), seed)
            assert loss <= START + ALLOWED * rounds + cost - 1 + 1e-9


def test_a_drafter_that_paid_and_pays_no_more_is_stopped_soon():
    def good_then_bad(number: int, rng: random.Random) -> tuple[int, float]:
        return (3, 1.3) if number < 200 else (1, 1.5)

    account, after = Account(), 0.0
    for number in range(400):
        account.round()
        if not account.overdrawn:
            tokens, cost = good_then_bad(number, random)
            account.drafted(tokens, cost)
            after += (tokens - cost) if number >= 200 else 0.0
    assert -after <= MOST + 0.5 + 200 * ALLOWED


@pytest.mark.parametrize("seed", range(5))
def test_a_drafter_that_pays_is_hardly_ever_stopped(seed):
    """One that fails nearly half the time, as a fork head does, and wins on the whole."""
    loss, tries = lost(300, lambda _, rng: (rng.choice((1, 1, 2, 3, 3)), 1.27), seed)
    assert tries > 270 and loss < -100


def test_it_says_how_long_drafting_rests():
    account = Account()
    assert not account.overdrawn and account.rounds_of_rest == 0
    account.drafted(1, 2 + START)
    assert account.overdrawn
    rest = account.rounds_of_rest
    for _ in range(rest - 1):
        account.round()
    assert account.overdrawn and account.rounds_of_rest == 1
    account.round()
    assert not account.overdrawn and account.rounds_of_rest == 0


def test_a_rest_is_as_long_as_the_try_was_dear():
    cheap, dear = Account(), Account()
    cheap.drafted(1, 1.2 + START)
    dear.drafted(1, 1.6 + START)
    assert dear.rounds_of_rest == pytest.approx(3 * cheap.rounds_of_rest, abs=3)
