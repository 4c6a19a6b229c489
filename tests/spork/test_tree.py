from spork.tree import ROOT, ForkTree


def sample() -> ForkTree:
    tree = ForkTree.rooted(9)
    tree.add_path([1, 2, 3], [0.5, 0.4, None])
    tree.add_path([1, 2, 4])
    tree.add_path([5])
    return tree


def test_shared_prefixes_are_merged():
    tree = sample()
    assert len(tree) == 6
    assert tree.tokens == [9, 1, 2, 3, 4, 5]
    assert tree.parents == [-1, 0, 1, 2, 2, 0]
    assert tree.depths == [0, 1, 2, 3, 3, 1]
    assert tree.ranks == [0, 0, 0, 0, 1, 1]


def test_paths_run_from_below_the_root():
    tree = sample()
    assert tree.path(4) == [1, 2, 4]
    assert tree.path_tokens(4) == [1, 2, 4]
    assert tree.path(ROOT) == []


def test_leaves_forks_and_subtrees():
    tree = sample()
    assert tree.leaves() == [3, 4, 5]
    assert list(tree.forks()) == [1, 5]
    assert sorted(tree.subtree(1)) == [1, 2, 3, 4]
    assert tree.depth == 3


def test_a_tree_of_the_root_alone():
    tree = ForkTree.rooted(7)
    assert (len(tree), tree.depth, tree.leaves(), list(tree.forks())) == (1, 0, [], [])
    assert tree.child(ROOT, 7) is None


def test_adding_a_child_again_returns_the_same_node():
    tree = ForkTree.rooted(7)
    assert tree.add(ROOT, 3, 0.9) == tree.add(ROOT, 3, 0.1)
    assert tree.draft_p == [None, 0.9]
