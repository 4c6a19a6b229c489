"""The dynamic draft tree: the best nodes by cumulative probability, and no others."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from spork.beams import GivenPath, draft, plant
from spork.tree import ROOT, ForkTree

VOCAB = 5


def law_of(path: tuple[int, ...]) -> torch.Tensor:
    """Log-probabilities after a path: fixed, different everywhere, without ties."""
    generator = torch.Generator().manual_seed(hash(path) % 2**31)
    return torch.randn(VOCAB, generator=generator, dtype=torch.float64).mul(2).log_softmax(dim=-1)


def grown(levels: int, forks: int, budget: int, ends: list[int] = [], deepen=lambda reach: True, given: dict[int, float] | None = None) -> ForkTree:
    """A tree whose drafter's state is the path itself, as digits. `given` are a path's tokens and chances."""
    tree = ForkTree.rooted(99)
    ids = torch.arange(VOCAB) + 100

    def paths(states: torch.Tensor) -> list[tuple[int, ...]]:
        return [tuple(int(t) for t in row if t >= 0) for row in states]

    def step(states: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        return torch.cat([states, tokens[:, None]], dim=1)

    def read(states: torch.Tensor, level: int) -> torch.Tensor:
        assert all(len(p) == level for p in paths(states))
        return torch.stack([law_of(p) for p in paths(states)])

    candidates = draft(
        torch.full((1, 1), -1), law_of(()), ids, levels=levels, forks=forks,
        step=step, read=read, ids=ids, ends=torch.tensor(ends, dtype=torch.long), deepen=deepen,
        given=GivenPath(torch.tensor([*given]), torch.tensor([*given.values()], dtype=torch.float64).log()) if given else None,
    )
    plant(tree, candidates, budget)
    return tree


def reach_of(path: tuple[int, ...]) -> float:
    return math.exp(sum(float(law_of(path[:i])[path[i] - 100]) for i in range(len(path))))


@pytest.mark.parametrize("levels, budget", [(1, 3), (2, 6), (3, 10), (4, 20)])
def test_with_wide_beams_it_holds_the_likeliest_paths_of_all(levels, budget):
    tree = grown(levels, forks=VOCAB, budget=budget)
    every = [p for n in range(1, levels + 1) for p in itertools.product(range(100, 105), repeat=n)]
    # A beam keeps VOCAB nodes a level, so the best of all can miss only far down; here none do.
    best = sorted(every, key=reach_of, reverse=True)[:budget]
    got = {tuple(tree.path_tokens(n)) for n in range(1, len(tree))}
    assert got == set(best)


def test_draft_probabilities_multiply_to_the_reach():
    tree = grown(3, forks=4, budget=12)
    for node, reach in enumerate(tree.reaches()):
        assert reach == pytest.approx(reach_of(tuple(tree.path_tokens(node))), rel=1e-6)


@pytest.mark.parametrize("forks", [1, 2, 3])
def test_forks_and_levels_are_bounds(forks):
    tree = grown(3, forks=forks, budget=100)
    assert len(tree.children(ROOT)) == forks
    assert tree.depth == 3


def test_an_end_token_grows_no_children():
    ends = [100, 101, 102, 103]
    tree = grown(4, forks=5, budget=100, ends=ends)
    for node in range(1, len(tree)):
        assert tree.tokens[node] not in ends or not tree.children(node)
    assert tree.depth == 4, "the other tokens still do"


def test_a_budget_of_none_adds_none():
    assert len(grown(3, forks=2, budget=0)) == 1


def test_it_asks_after_every_level_but_the_last_and_stops_when_told():
    asked: list[list[float]] = []

    def deepen(reach: torch.Tensor) -> bool:
        asked.append(reach.exp().tolist())
        return len(asked) < 2

    tree = grown(4, forks=3, budget=100, deepen=deepen)
    assert tree.depth == 2 and len(asked) == 2
    for level, reaches in enumerate(asked, start=1):
        likeliest = sorted((r for n, r in enumerate(tree.reaches()) if tree.depths[n] == level), reverse=True)[:3]
        assert sorted(reaches, reverse=True) == pytest.approx(likeliest)
    asked.clear()
    assert grown(2, forks=3, budget=100, deepen=deepen).depth == 2 and len(asked) == 1


#: Two tokens the drafter has, then two it has not.
GIVEN = {101: 0.9, 104: 0.4, 107: 0.95, 108: 0.9}


def test_a_given_path_takes_its_place_among_the_guesses_by_the_greater_probability():
    tree = grown(4, forks=VOCAB + 1, budget=10**6, given=GIVEN)
    for node in range(1, len(tree)):
        path = tuple(tree.path_tokens(node))
        said = [GIVEN[path[-1]]] if path == tuple(GIVEN)[: len(path)] else []
        guessed = [float(law_of(path[:-1])[path[-1] - 100].exp())] if path[-1] < 100 + VOCAB else []
        assert tree.draft_p[node] == pytest.approx(max(said + guessed)), path
    assert tree.depth == 4
    whole = {tuple(tree.path_tokens(n)) for n in range(1, len(tree))}
    assert tuple(GIVEN) in whole
    assert any(p[:3] == tuple(GIVEN)[:3] and p[3] < 100 + VOCAB for p in whole), "the drafter goes on from it too"


@pytest.mark.parametrize("forks, budget", [(1, 100), (2, 5), (3, 9)])
def test_a_given_path_keeps_within_the_bounds(forks, budget):
    tree = grown(4, forks=forks, budget=budget, given=GIVEN)
    assert len(tree.children(ROOT)) <= forks and len(tree) - 1 <= budget and tree.depth <= 4
    assert tuple(tree.path_tokens(tree.child(ROOT, 101)))[:1] == (101,), "it is the likeliest fork"


@pytest.mark.parametrize("levels_drafted", [1, 2, 3])
def test_a_given_path_is_told_to_its_end_where_drafting_stops(levels_drafted):
    asked = []
    tree = grown(4, forks=3, budget=100, given=GIVEN, deepen=lambda reach: len(asked) + 1 < levels_drafted and not asked.append(0))
    node = tree.add_path([*GIVEN])
    assert node < len(tree) and tree.depths[node] == 4
    assert tree.draft_p[node] == pytest.approx(0.9)
    assert all(tree.depths[n] <= levels_drafted for n in range(1, len(tree)) if n not in tree.path(node))


def test_what_a_given_path_has_no_chance_of_is_not_added():
    def paths(**how) -> set[tuple[int, ...]]:
        tree = grown(4, forks=2, budget=100, **how)
        return {tuple(tree.path_tokens(n)) for n in range(1, len(tree))}

    assert paths(given=dict.fromkeys(GIVEN, 0.0)) == paths()
    assert grown(4, forks=3, budget=100, deepen=lambda reach: False, given={101: 0.9} | dict.fromkeys([104, 107, 108], 0.0)).depth == 1
    unlikely = next(token for token in (100, 102, 103) if token not in {p[0] for p in paths()})
    below = grown(4, forks=2, budget=100, deepen=lambda reach: False, given={unlikely: 1e-9} | dict.fromkeys([104, 107, 108], 0.9))
    assert below.depth == 1, "a path the forks have no room for"


def test_a_given_path_ends_with_an_end_token():
    tree = grown(4, forks=3, budget=100, ends=[104], given=GIVEN)
    assert tree.child(tree.child(ROOT, 101), 104) is not None
    assert not tree.children(tree.child(tree.child(ROOT, 101), 104))
    stopped = grown(4, forks=3, budget=100, ends=[101], given=GIVEN, deepen=lambda reach: False)
    assert stopped.depth == 1
