"""A uniform tree, depth by depth: K first tokens, each continued as one chain until it ends."""

from __future__ import annotations

from typing import Callable

from ..round_context import RoundContext
from ..tree import ROOT

#: Gives each of some nodes its likeliest next tokens, as many as asked; returns the nodes added.
Extend = Callable[[RoundContext, list[int], int], list[int]]


def grow_chains(context: RoundContext, extend: Extend) -> None:
    """Add at most `context.k` chains of `context.depth` tokens; a chain stops at an end token, and all do
    where one more level is not wanted."""
    frontier, width = [ROOT], context.k
    for level in range(context.depth):
        alive = [n for n in frontier if n == ROOT or context.tree.tokens[n] not in context.end_tokens]
        if not alive or (level and not _one_more_wanted(context, alive)):
            return
        frontier, width = extend(context, alive, width), 1


def _one_more_wanted(context: RoundContext, frontier: list[int]) -> bool:
    if context.deepen is None:
        return True
    reaches = context.tree.reaches()
    return context.deepen([reaches[n] for n in frontier])


def add_best(context: RoundContext, nodes: list[int], tokens: list[list[int]], chances: list[list[float]]) -> list[int]:
    """Add under each node its tokens, best first, with their draft probabilities; returns the nodes added."""
    return [
        context.tree.add(node, token, p)
        for node, row, ps in zip(nodes, tokens, chances)
        for token, p in zip(row, ps)
    ]
