"""Where each node of a round's tree is drawn.

A position is (depth, lane): depth is the tree's depth, lane a row from the top (0) down. The page
decides which of the two is x. A node stands level with its first child, so the chain of a fork is
one straight line, and the root stands in the middle of its forks. Positions depend on the shape
alone and shapes repeat from round to round, so they are computed once a shape.
"""

from __future__ import annotations

from functools import lru_cache

import networkx as nx

from spork.events import Round

#: More nodes than this are unreadable and slow to draw; the table still lists them all.
MAX_DRAWN = 80

Position = tuple[float, float]


@lru_cache(maxsize=512)
def positions(parents: tuple[int, ...]) -> tuple[Position, ...]:
    """(depth, lane) for every node; `parents[i]` is the index of node i's parent, -1 for the root.

    A parent comes before its children, as it does in every trace.
    """
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(parents)))
    graph.add_edges_from((parent, node) for node, parent in enumerate(parents) if parent >= 0)
    depth = nx.single_source_shortest_path_length(graph, 0)
    lane: dict[int, float] = {}
    rows = 0
    for node in nx.dfs_postorder_nodes(graph, 0):
        children = list(graph.successors(node))
        if not children:
            lane[node] = float(rows)
            rows += 1
        elif node == 0:
            lane[node] = (lane[children[0]] + lane[children[-1]]) / 2
        else:
            lane[node] = lane[children[0]]
    return tuple((float(depth[node]), lane[node]) for node in range(len(parents)))


def round_layout(round_: Round) -> list[list[float] | None]:
    """Positions for the root and then each of `round_.nodes`, in their order.

    None stands for a node left out of the drawing because the tree has more than MAX_DRAWN.
    """
    drawn = _drawn(round_)
    index = {0: 0}
    parents = [-1]
    for node in round_.nodes:
        if node.id in drawn:
            index[node.id] = len(parents)
            parents.append(index[node.parent])
    spots = positions(tuple(parents))
    shown = [spots[0], *(spots[index[node.id]] if node.id in drawn else None for node in round_.nodes)]
    return [None if spot is None else [spot[0], spot[1]] for spot in shown]


def _drawn(round_: Round) -> set[int]:
    """Ids to draw: what was committed first, then best ranks near the root, each with its ancestors."""
    if len(round_.nodes) <= MAX_DRAWN:
        return {node.id for node in round_.nodes}
    parent = {node.id: node.parent for node in round_.nodes}
    order = sorted(round_.nodes, key=lambda n: (n.status == "rejected", n.depth, n.rank))
    drawn: set[int] = set()
    for node in order:
        path, at = [], node.id
        while at != 0 and at not in drawn:
            path.append(at)
            at = parent[at]
        if len(drawn) + len(path) <= MAX_DRAWN:
            drawn.update(path)
    return drawn
