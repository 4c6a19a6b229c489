"""Beams: a dynamic draft tree, grown level by level where the drafter itself is surest.

Source of the method: Li et al. 2024, EAGLE-2, arXiv:2406.16858: expand the best few nodes of each
level by cumulative draft probability, then keep the best nodes of all. Everything stays on the
device until the tree is whole: one transfer a tree, whatever its depth.
"""

from __future__ import annotations

import math
from typing import Callable

import torch

from .tree import ROOT, ForkTree


def grow(
    tree: ForkTree,
    state: torch.Tensor,
    first: torch.Tensor,
    first_ids: torch.Tensor,
    *,
    levels: int,
    forks: int,
    budget: int,
    step: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    read: Callable[[torch.Tensor, int], torch.Tensor],
    ids: torch.Tensor,
    ends: torch.Tensor,
) -> None:
    """Add at most `budget` nodes, at most `forks` of them under the root, to `tree`, which holds its root only.

    `state` [1, ...] is the drafter's at the root; `first` [v0] are the log-probabilities there of the
    tokens `first_ids` [v0]. `step(states, tokens)` gives states one token further, `read(states,
    level)` the log-probabilities [n, v] of the tokens `ids` [v] after nodes at a level (1: the
    root's children). Tokens in `ends` [e] grow no children.
    """
    width = min(forks, len(first))
    best = first.topk(width)
    levels_kept = [(best.values, first_ids[best.indices], torch.zeros(width, dtype=torch.long, device=first.device))]
    offset, reach, tokens = 0, best.values, levels_kept[0][1]
    states = step(state.expand(width, *state.shape[1:]), tokens) if levels > 1 else None
    row = torch.arange(width, device=first.device)
    for level in range(1, levels):
        log_p = read(states, level)
        top = log_p.topk(min(forks, log_p.shape[1]), dim=-1)
        alive = reach.masked_fill(torch.isin(tokens, ends), -torch.inf)
        candidates = (alive[:, None] + top.values).flatten()
        children = ids[top.indices].flatten()
        parents = row.repeat_interleave(top.indices.shape[1]) + offset
        offset += len(levels_kept[-1][0])
        levels_kept.append((candidates, children, parents))
        if level == levels - 1:
            break
        kept = candidates.topk(min(forks, len(candidates)))
        reach, tokens, row = kept.values, children[kept.indices], kept.indices
        states = step(states[kept.indices // top.indices.shape[1]], tokens)
    _plant(tree, levels_kept, budget)


def _plant(tree: ForkTree, levels_kept: list[tuple[torch.Tensor, ...]], budget: int) -> None:
    """Add the `budget` candidates with the best cumulative probability; a parent is never below its child."""
    packed = torch.stack([torch.cat([level[i].double() for level in levels_kept]) for i in range(3)])
    reach, tokens, parents = packed.tolist()
    sizes = [len(level[0]) for level in levels_kept]
    first_level = sizes[0]
    order = sorted(range(len(reach)), key=lambda i: (-reach[i], i))[:budget]
    nodes: dict[int, int] = {}
    for i in order:
        if reach[i] == float("-inf"):
            break
        parent = ROOT if i < first_level else nodes[int(parents[i])]
        up = 0.0 if i < first_level else reach[int(parents[i])]
        nodes[i] = tree.add(parent, int(tokens[i]), min(1.0, math.exp(reach[i] - up)))
