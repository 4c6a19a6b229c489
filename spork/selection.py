"""Selection: tau, fallback, and which path wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Literal

from .tree import ROOT, ForkTree
from .verifiers.base import Verdict


@dataclass
class Choice:
    """What a round commits: `path` (accepted nodes, root's child first), then `next_token`.

    `next_token` is the bonus token after an accepted path, the model's own token on fallback, or
    None where the verifier gives no bonus. `fork` indexes the root's children.
    """

    path: list[int]
    next_token: int | None
    fork: int | None
    decision: Literal["accepted", "fallback"]
    reason: str


def select(tree: ForkTree, verdict: Verdict, tau: float, show: Callable[[int], str]) -> Choice:
    """Pick the winning path, or fall back to the model's own token.

    `show(token)` gives a token's printable form for the one-line reason.
    """
    pick = _select_by_token if verdict.by_token else _select_by_fork
    return pick(tree, verdict, tau, show)


def _select_by_token(tree: ForkTree, verdict: Verdict, tau: float, show: Callable[[int], str]) -> Choice:
    """The longest accepted path wins, ties by the product of scores.

    A node passes when it carries the model's own token, or when tau < 1 and its score reaches
    tau. The own token counts as score 1, so it is preferred to any other. At tau = 1 no two
    siblings can pass, so ties cannot arise and the path is the model's own.
    """
    rank: dict[int, tuple[int, float]] = {ROOT: (0, 1.0)}
    for node in range(1, len(tree)):
        parent = tree.parents[node]
        if parent not in rank:
            continue
        own = tree.tokens[node] == verdict.own_tokens[parent]
        score = verdict.node_scores[node]
        if own or (tau < 1 and score >= tau):
            length, product = rank[parent]
            rank[node] = (length + 1, product * (1.0 if own else score))
    winner = max(rank, key=rank.__getitem__)
    path = tree.path(winner)
    next_token = verdict.own_tokens[winner]
    if not path:
        return Choice([], next_token, None, "fallback", _why_no_token_passed(tree, verdict, tau, show))
    fork = tree.children(ROOT).index(path[0])
    drafted = max(tree.depths[n] for n in tree.subtree(path[0]))
    by_own = all(tree.tokens[n] == verdict.own_tokens[tree.parents[n]] for n in path)
    why = "the model would write them itself" if by_own else f"their scores reach tau {tau:.2f}"
    if len(path) == 1:
        why = why.replace("them", "it").replace("their scores reach", "its score reaches")
    return Choice(path, next_token, fork, "accepted", f"fork {fork + 1}: {len(path)} of {drafted} tokens accepted, {why}")


def _why_no_token_passed(tree: ForkTree, verdict: Verdict, tau: float, show: Callable[[int], str]) -> str:
    own = show(verdict.own_tokens[ROOT])
    if len(tree) == 1:
        return f"nothing was proposed: the model writes {own} itself"
    if tau >= 1:
        return f"no fork begins with {own}, which the model would write"
    best = max(s for s in verdict.fork_scores if s is not None)
    return f"the best first token scores {best:.2f}, below tau {tau:.2f}: the model writes {own} itself"


def _select_by_fork(tree: ForkTree, verdict: Verdict, tau: float, show: Callable[[int], str]) -> Choice:
    """The fork with the highest score is taken whole if it reaches tau; ties go to the better rank."""
    own = verdict.own_tokens[ROOT]
    forks = tree.children(ROOT)
    if not forks:
        return Choice([], own, None, "fallback", f"nothing was proposed: the model writes {show(own)} itself")
    best = max(range(len(forks)), key=lambda f: (verdict.fork_scores[f], -f))
    score = verdict.fork_scores[best]
    if score < tau:
        reason = f"the best fork scores {score:.2f}, below tau {tau:.2f}: the model writes {show(own)} itself"
        return Choice([], own, None, "fallback", reason)
    path = tree.deepest_path(forks[best])
    tokens = "its only token" if len(path) == 1 else f"all {len(path)} tokens"
    return Choice(path, None, best, "accepted", f"fork {best + 1} scores {score:.2f}, reaching tau {tau:.2f}: {tokens} accepted")
