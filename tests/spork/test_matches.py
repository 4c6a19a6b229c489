"""How the text may go on by its own repetitions, and how far that is trusted."""

from __future__ import annotations

import pytest

from spork.matches import LONGEST_COUNTED, Matches


def matches_of(text: list[int]) -> Matches:
    matches = Matches()
    matches.append(text)
    return matches


def test_paths_are_what_followed_the_longest_match_first():
    matches = matches_of([1, 2, 3, 4, 9, 2, 3, 5, 8, 1, 2, 3])
    assert [[t for t, _ in path] for path in matches.paths(3)] == [[4, 9, 2], [5, 8, 1]]
    assert [len(path) for path in matches.paths(1)] == [1, 1]


def test_a_text_without_repetitions_has_none():
    assert list(matches_of([1, 2, 3]).paths(4)) == [] and matches_of([1, 2, 3]).trust() == 0
    assert list(Matches().paths(4)) == [] and Matches().trust() == 0


def test_a_longer_match_is_trusted_more_and_one_that_goes_on_grows():
    trusts = [matches_of([*range(10, 10 + n), 5, 6, *range(10, 10 + n)]).trust() for n in range(1, 8)]
    assert trusts == sorted(set(trusts)) and 0 < trusts[0] and trusts[-1] < 1
    (path,) = matches_of([1, 2, 3, 4, 5, 6, 0, 1, 2]).paths(4)
    assert [p for _, p in path] == sorted({p for _, p in path})


@pytest.mark.parametrize("holds", [True, False])
def test_trust_follows_what_came(holds):
    """In a text that repeats itself, or one whose every repetition breaks off at its second word."""
    text, fresh = Matches(), iter(range(100, 10_000))
    for _ in range(20):
        text.append([1])
        for _ in text.paths(1):
            pass
        text.append([2] if holds else [next(fresh)])
        text.append([next(fresh)])
    text.append([1])
    assert text.trust() > 0.7 if holds else text.trust() < 0.2


def test_only_as_much_is_learnt_as_the_text_tells():
    """Tokens after the first that differs say nothing about the match; nor does a text that goes on unasked."""
    asked, unasked = (matches_of([1, 2, 3, 4, 5, 0, 1, 2]) for _ in range(2))
    next(asked.paths(3))
    for matches in (asked, unasked):
        matches.append([3, 9, 5])
    assert [(asked._tried[n], asked._held[n]) for n in (2, 3, 4)] == [(1, 1), (1, 0), (0, 0)]
    assert not unasked._tried


def test_long_matches_are_counted_together():
    block = list(range(50))
    (path,) = matches_of([*block, 99, *block[:30]]).paths(8)
    assert len({p for _, p in path}) == 1 and len(path) == 8
    assert matches_of([*block, 99, *block[:30]]).trust() == matches_of([*block, 99, *block[:LONGEST_COUNTED]]).trust()
