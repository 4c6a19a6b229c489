"""Beams: a dynamic draft tree, grown level by level where the drafter itself is surest.

Source of the method: Li et al. 2024, EAGLE-2, arXiv:2406.16858: expand the best few nodes of each
level by cumulative draft probability, then keep the best nodes of all. Everything stays on the
device until the tree is whole, in shapes that depend on the bounds alone: one transfer a tree,
whatever its depth, and a CUDA graph can hold it. Only who wants a say after each level pays for
one more transfer a level.

A path that is likely for another reason, as the text said it before, may be given: it takes its
place among the drafter's own guesses, by the greater of the two probabilities where both have it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, Sequence

import torch

from .tree import ROOT, ForkTree


@dataclass
class Candidates:
    """Drafted nodes [c], level after level: log of the cumulative probability, token, and the index
    of the parent among them (-1 under the root). A node that must not be is at -inf."""

    reach: torch.Tensor
    tokens: torch.Tensor
    parents: torch.Tensor

    @classmethod
    def joined(cls, parts: "Sequence[Candidates]") -> "Candidates":
        return cls(*(torch.cat([getattr(part, name) for part in parts]) for name in ("reach", "tokens", "parents")))


@dataclass
class GivenPath:
    """Tokens [d] from the root's child on, and the log-probability [d] of each where those before it hold; -inf where there is none."""

    tokens: torch.Tensor
    log_p: torch.Tensor

    def to(self, device: torch.device) -> "GivenPath":
        return GivenPath(self.tokens.to(device), self.log_p.to(device))

    def up_to(self, ends: torch.Tensor) -> "GivenPath":
        """The same with nothing after a token of `ends` [e]."""
        ended = _among(self.tokens, ends)
        return GivenPath(self.tokens, self.log_p.masked_fill(ended.cumsum(0) > ended, -torch.inf))


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
    given: GivenPath | None = None,
) -> Candidates:
    """Candidates of at most `levels` levels, at most `forks` of them at the first and expanded at each other.

    `state` [1, ...] is the drafter's at the root; `first` [v0] are the log-probabilities there of the
    tokens `first_ids` [v0]. `step(states, tokens)` gives states one token further, `read(states,
    level)` the log-probabilities [n, v] of the tokens `ids` [v] after nodes at a level (1: the
    root's children). Tokens in `ends` [e] grow no children. `deepen(reach)` says whether one more
    level is wanted below nodes whose cumulative log-probabilities are `reach` [n]; without it all are.
    `given` is `levels` long; it is told to its end, however deep the drafter goes.
    """
    here = torch.ones(1, dtype=torch.bool, device=first.device)  # which of the expanded nodes the given path goes through
    if given is not None:
        given = given.up_to(ends)
    chances, children = _children(first[None], first_ids, forks, given, 0, here)
    width = min(forks, chances.shape[1])
    best = chances[0].topk(width)
    reach, tokens = best.values, children[0, best.indices]
    place = torch.arange(width, device=first.device)  # of the expanded nodes, among all candidates
    kept = [Candidates(reach, tokens, torch.full_like(place, -1))]
    states, offset, drafted = state.expand(width, *state.shape[1:]), width, 1
    if given is not None:
        here = tokens == given.tokens[0]
    for level in range(1, levels):
        if deepen is not None and not deepen(reach):
            break
        states = step(states, tokens)
        chances, children = _children(read(states, level), ids, forks, given, level, here)
        below = (reach.masked_fill(_among(tokens, ends), -torch.inf)[:, None] + chances).flatten()
        branching = chances.shape[1]
        kept.append(Candidates(below, children.flatten(), place.repeat_interleave(branching)))
        best = below.topk(min(forks, len(below)))
        reach, tokens = best.values, children.flatten()[best.indices]
        above = best.indices // branching
        states, place = states[above], best.indices + offset
        if given is not None:
            here = here[above] & (tokens == given.tokens[level])
        offset, drafted = offset + len(below), level + 1
    if given is not None and drafted < levels:
        kept.append(_rest_of(given, drafted, reach, place, here, offset))
    return Candidates.joined(kept)


def _children(
    log_p: torch.Tensor, ids: torch.Tensor, forks: int, given: GivenPath | None, level: int, here: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities and tokens [n, c] of the likeliest children of nodes, whose next tokens `ids` [v] have `log_p` [n, v].

    Of the nodes, those `here` [n] are on the given path. Its token has the greater of both probabilities
    where it is among `ids`, else a place behind the others.
    """
    if given is None:
        top = log_p.topk(min(forks, log_p.shape[1]), dim=-1)
        return top.values, ids[top.indices]
    token, given_p = given.tokens[level], torch.where(here, given.log_p[level], -torch.inf).to(log_p.dtype)[:, None]
    same = ids == token
    known, at = same.any(), same.to(torch.uint8).argmax()[None]
    raised = torch.maximum(log_p.index_select(1, at), given_p.masked_fill(~known, -torch.inf))
    top = log_p.index_copy(1, at, raised).topk(min(forks, log_p.shape[1]), dim=-1)
    added = given_p.masked_fill(known, -torch.inf)
    return torch.cat([top.values, added], dim=1), torch.cat([ids[top.indices], token.expand(len(log_p), 1)], dim=1)


def _among(tokens: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    return (tokens[:, None] == ends[None, :]).any(dim=-1)


def _rest_of(
    given: GivenPath, level: int, reach: torch.Tensor, place: torch.Tensor, here: torch.Tensor, offset: int
) -> Candidates:
    """The given path from `level` on, below the last expanded node that is on it; all at -inf where none is."""
    count = len(given.tokens) - level
    up = torch.where(here, reach, -torch.inf)
    end = up.argmax()
    parents = torch.cat([place[end][None], torch.arange(offset, offset + count - 1, device=place.device)])
    return Candidates(up[end] + given.log_p[level:].cumsum(0), given.tokens[level:], parents)


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
