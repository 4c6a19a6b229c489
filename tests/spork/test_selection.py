"""Which path wins, written out by hand."""

import pytest

from spork.selection import select
from spork.tree import ForkTree
from spork.verifiers.base import Verdict


def show(token: int) -> str:
    return f"<{token}>"


def by_token(paths, own, scores, tau):
    """A tree from token paths; `own` and `scores` go by (path prefix) tuple."""
    tree = ForkTree.rooted(0)
    for path in paths:
        tree.add_path(path)
    key = {n: tuple(tree.path_tokens(n)) for n in range(len(tree))}
    node_scores = [None, *(scores[key[n]] for n in range(1, len(tree)))]
    verdict = Verdict(
        node_scores, [node_scores[f] for f in tree.forks()],
        {n: own.get(key[n], 99) for n in range(len(tree))}, by_token=True,
    )
    choice = select(tree, verdict, tau, show)
    return [tree.tokens[n] for n in choice.path], choice


def test_at_tau_1_only_the_models_own_tokens_pass_even_where_another_ties():
    scores = {(1,): 1.0, (2,): 1.0, (2, 3): 1.0}
    path, choice = by_token([[1], [2, 3]], {(): 1, (1,): 7}, scores, tau=1.0)
    assert path == [1]
    assert choice.next_token == 7
    assert choice.fork == 0


def test_below_tau_1_the_longest_accepted_path_wins():
    scores = {(1,): 1.0, (2,): 0.8, (2, 3): 0.9}
    path, choice = by_token([[1], [2, 3]], {(): 1, (2, 3): 5}, scores, tau=0.7)
    assert path == [2, 3]
    assert choice.next_token == 5
    assert "tau 0.70" in choice.reason


def test_equal_lengths_go_to_the_higher_product_and_the_own_token_counts_as_1():
    # Sampling: the own token may be unlikely, and is preferred all the same.
    scores = {(1,): 0.2, (2,): 0.95}
    path, _ = by_token([[1], [2]], {(): 1}, scores, tau=0.9)
    assert path == [1]
    path, _ = by_token([[3], [2]], {(): 1}, {(3,): 0.91, (2,): 0.95}, tau=0.9)
    assert path == [2]


def test_nothing_passes_below_a_rejected_token():
    scores = {(1,): 0.1, (1, 2): 1.0}
    path, choice = by_token([[1, 2]], {(): 9, (1,): 2}, scores, tau=0.5)
    assert path == []
    assert choice.decision == "fallback"
    assert choice.next_token == 9
    assert "0.10" in choice.reason and "<9>" in choice.reason


def test_a_score_exactly_at_tau_passes():
    path, _ = by_token([[1]], {(): 9}, {(1,): 0.5}, tau=0.5)
    assert path == [1]


def whole(fork_paths, fork_scores, tau):
    tree = ForkTree.rooted(0)
    for path in fork_paths:
        tree.add_path(path)
    choice = select(tree, Verdict([None] * len(tree), fork_scores, {0: 42}), tau, show)
    return [tree.tokens[n] for n in choice.path], choice


def test_whole_forks_stand_or_fall_by_their_score():
    path, choice = whole([[1, 2], [3, 4]], [0.6, 0.8], tau=0.7)
    assert (path, choice.fork, choice.next_token) == ([3, 4], 1, None)
    path, choice = whole([[1, 2], [3, 4]], [0.6, 0.69], tau=0.7)
    assert (path, choice.fork, choice.next_token, choice.decision) == ([], None, 42, "fallback")


def test_whole_forks_that_tie_go_to_the_better_rank():
    path, _ = whole([[1], [2], [3]], [0.5, 0.9, 0.9], tau=0.7)
    assert path == [2]


@pytest.mark.parametrize("by_tokens", [True, False])
def test_an_empty_tree_falls_back_and_says_why(by_tokens):
    choice = select(ForkTree.rooted(0), Verdict([None], [], {0: 42}, by_token=by_tokens), 0.0, show)
    assert (choice.path, choice.next_token, choice.decision) == ([], 42, "fallback")
    assert "nothing was proposed" in choice.reason
