"""Beams: a dynamic draft tree, grown level by level where the drafter itself is surest.

Source of the method: Li et al. 2024, EAGLE-2, arXiv:2406.16858: expand the best few nodes of each
level by cumulative draft probability, then keep the best nodes of all. Everything stays on the
device until the tree is whole, in shapes that depend on the bounds alone: one transfer a tree,
whatever its depth, and a CUDA graph can hold it. Only who wants a say after each level pays for
one more transfer a level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable

import torch

from .tree import ROOT, ForkTree


@dataclass
class Candidates:
    """Drafted nodes [c], level after level: log of the cumulative probability, token, and the index
    of the parent among them (-1 under the root). A node that must not be is at -inf."""

    reach: torch.Tensor
    tokens: torch.Tensor
    parents: torch.Tensor


def draft(
    state: torch.Tensor,
    first: torch.Tensor,
    first_ids: torch.Tensor,
    *,
    levels: int,
    forks: int,
    step: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    read: Callable[[torch.Tensor, int], torch.Tensor],
    ids: torch.Tensor,
    ends: torch.Tensor,
    deepen: Callable[[torch.Tensor], bool] | None = None,
) -> Candidates:
    """Candidates of at most `levels` levels, at most `forks` of them at the first and expanded at each other.

    `state` [1, ...] is the drafter's at the root; `first` [v0] are the log-probabilities there of the
    tokens `first_ids` [v0]. `step(states, tokens)` gives states one token further, `read(states,
    level)` the log-probabilities [n, v] of the tokens `ids` [v] after nodes at a level (1: the
    root's children). Tokens in `ends` [e] grow no children. `deepen(reach)` says whether one more
    level is wanted below nodes whose cumulative log-probabilities are `reach` [n]; without it all are.
    """
    width = min(forks, len(first))
    best = first.topk(width)
    reach, tokens = best.values, first_ids[best.indices]
    place = torch.arange(width, device=first.device)  # of the expanded nodes, among all candidates
    kept = [Candidates(reach, tokens, torch.full_like(place, -1))]
    states, offset = state.expand(width, *state.shape[1:]), width
    for level in range(1, levels):
        if deepen is not None and not deepen(reach):
            break
        states = step(states, tokens)
        log_p = read(states, level)
        top = log_p.topk(min(forks, log_p.shape[1]), dim=-1)
        ended = (tokens[:, None] == ends[None, :]).any(dim=-1)
        below = (reach.masked_fill(ended, -torch.inf)[:, None] + top.values).flatten()
        children = ids[top.indices].flatten()
        branching = top.indices.shape[1]
        kept.append(Candidates(below, children, place.repeat_interleave(branching)))
        best = below.topk(min(forks, len(below)))
        reach, tokens = best.values, children[best.indices]
        states, place = states[best.indices // branching], best.indices + offset
        offset += len(below)
    return Candidates(*(torch.cat([getattr(c, name) for c in kept]) for name in ("reach", "tokens", "parents")))


def plant(tree: ForkTree, candidates: Candidates, budget: int) -> None:
    """Add the `budget` candidates with the best cumulative probability to `tree`, which holds its root only."""
    packed = torch.stack([candidates.reach.double(), candidates.tokens.double(), candidates.parents.double()])
    reach, tokens, parents = packed.tolist()
    # A parent comes before its child: it is at least as likely, and stands before it.
    order = sorted(range(len(reach)), key=lambda i: (-reach[i], i))[:budget]
    nodes: dict[int, int] = {-1: ROOT}
    for i in order:
        if reach[i] == -math.inf:
            break
        parent = int(parents[i])
        above = reach[parent] if parent >= 0 else 0.0
        nodes[i] = tree.add(nodes[parent], int(tokens[i]), min(1.0, math.exp(reach[i] - above)))
