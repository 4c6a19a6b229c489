"""Positions: straight chains, nothing on top of anything else, one computation a shape."""

import pytest

from spork.tree import ForkTree
from ui.layout import MAX_DRAWN, positions, round_layout

from .fakes import node, round_


def test_chains_are_straight_and_the_root_stands_in_the_middle():
    # Three forks of two tokens: 1-4, 2-5, 3-6.
    spots = positions((-1, 0, 0, 0, 1, 2, 3))
    assert [spot[0] for spot in spots] == [0, 1, 1, 1, 2, 2, 2]
    for first, second in ((1, 4), (2, 5), (3, 6)):
        assert spots[first][1] == spots[second][1]
    assert spots[0][1] == spots[2][1] == 1


def test_the_root_alone_has_a_place():
    assert positions((-1,)) == ((0.0, 0.0),)


def test_a_branch_gets_a_lane_of_its_own():
    spots = positions((-1, 0, 1, 1))
    assert spots[1][1] == spots[2][1] != spots[3][1]


@pytest.mark.parametrize("k, m", [(1, 0), (4, 3), (8, 8)])
def test_no_two_nodes_share_a_place(k, m):
    tree = ForkTree.rooted(0)
    for fork in range(k):
        tree.add_path([100 * fork + step for step in range(1, m + 2)])
    spots = positions(tuple(tree.parents))
    assert len(set(spots)) == len(spots) == len(tree)
    assert all(depth == tree.depths[n] for n, (depth, _) in enumerate(spots))


def test_one_shape_is_computed_once():
    positions.cache_clear()
    positions((-1, 0, 0))
    positions((-1, 0, 0))
    assert positions.cache_info().hits == 1


def test_a_round_gets_a_place_for_the_root_and_each_node():
    layout = round_layout(round_(0))
    assert layout == [[0, 0.5], [1, 0], [1, 1], [2, 0]]


def test_node_ids_need_not_be_consecutive():
    given = round_(0)
    given.nodes = [node(5, 0, 1, "a", "accepted"), node(9, 5, 2, "b", "rejected")]
    assert round_layout(given) == [[0, 0], [1, 0], [2, 0]]


def test_a_huge_tree_keeps_the_committed_path_and_leaves_the_rest_to_the_table():
    given = round_(0)
    given.nodes = [node(i, 0, 1, "x", "rejected", rank=i) for i in range(1, 300)]
    given.nodes += [node(300, 299, 2, "deep", "accepted")]
    given.nodes[298].status = "accepted"
    layout = round_layout(given)
    assert sum(spot is not None for spot in layout) == MAX_DRAWN + 1
    assert layout[0] and layout[299] and layout[300]
