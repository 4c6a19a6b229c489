"""What another tau would have decided, round by round, from a recorded trace alone.

The contract: exact up to the first round whose decision flips. From there on the text would have
been another one, so later rounds are judged as if they stood alone: an estimate, and to be shown
as one. The decision itself is `selection.select`, the one the engine uses; only its inputs are
rebuilt here. A greedy run is needed: with sampling the noise that chose a token is not recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

from .errors import TraceError
from .events import Round, RunFinished, RunStarted
from .selection import select
from .tree import ROOT, ForkTree
from .verifiers import VERIFIERS
from .verifiers.base import Verdict

#: Stands for the score of what was never scored: it reaches no tau.
NO_SCORE = -1.0

#: Stands for the model's own token where the trace does not tell it: no drafted token carried it.
UNKNOWN = -1


@dataclass(frozen=True)
class Step:
    """One decision: it holds for every tau above the step before (or 0) and up to `upto`.

    `path` holds the ids of the nodes it accepts; `tokens` is what the round would commit, the bonus
    token counted; `same` says that this is what the trace records.
    """

    upto: float
    decision: str
    fork: int | None
    path: list[int]
    tokens: int
    same: bool


def decisions(trace: Sequence[RunStarted | Round | RunFinished]) -> list[list[Step]]:
    """For every round of a trace, its decisions by rising tau.

    Raises TraceError for a trace of a sampled run, of a verifier this SPORK does not know, or of
    rounds no engine made.
    """
    started, *rest = trace
    if started.config.get("temperature", 0) > 0:
        raise TraceError("only a greedy run can be judged at another tau: the noise of a sampled one is not in its trace")
    verifier = VERIFIERS.get(started.config.get("verifier"))
    if verifier is None:
        raise TraceError(f"the trace names a verifier this SPORK does not have: {started.config.get('verifier')!r}")
    return [_steps(event, verifier.lossless, verifier.gives_bonus) for event in rest if isinstance(event, Round)]


def _steps(round_: Round, by_token: bool, gives_bonus: bool) -> list[Step]:
    tree, verdict = _rebuilt(round_, by_token)
    scores = verdict.node_scores[1:] if by_token else verdict.fork_scores
    bounds = sorted({min(1.0, s) for s in scores if s > 0} | {1.0})
    steps: list[Step] = []
    for upto in bounds:
        choice = select(tree, verdict, upto, lambda token: "")
        tokens = len(choice.path) + (1 if gives_bonus or choice.decision == "fallback" else 0)
        same = _as_recorded(round_, choice.path)
        step = Step(upto, choice.decision, choice.fork, choice.path, tokens, same)
        if steps and _alike(steps[-1], step):
            steps.pop()
        steps.append(step)
    return steps


def _alike(a: Step, b: Step) -> bool:
    return (a.decision, a.fork, a.path, a.tokens, a.same) == (b.decision, b.fork, b.path, b.tokens, b.same)


def _as_recorded(round_: Round, path: Sequence[int]) -> bool:
    """Whether `path` is the recorded one, which a stop rule may have cut short."""
    recorded = [node.id for node in round_.nodes if node.status == "accepted"]
    if round_.decision == "fallback" or not path:
        return (round_.decision == "fallback") == (not path)
    return path == recorded or (len(round_.committed) <= len(recorded) and path[: len(recorded)] == recorded)


def _rebuilt(round_: Round, by_token: bool) -> tuple[ForkTree, Verdict]:
    """The tree and the verdict that `select` saw."""
    tree = ForkTree.rooted(round_.root_id)
    drafted = round_.drafted
    for number, node in enumerate(drafted, start=1):
        if node.id != number or tree.add(node.parent, node.token_id, node.draft_p) != number:
            raise TraceError(f"round {round_.index} cannot be judged: its tree is not one the engine makes")
    if len(tree.children(ROOT)) != len(round_.forks):
        raise TraceError(f"round {round_.index} cannot be judged: it has {len(round_.forks)} forks for {len(tree.children(ROOT))} first tokens")
    scores = [None, *(NO_SCORE if node.score is None else node.score for node in drafted)]
    own = {node: UNKNOWN for node in range(len(tree))}
    if by_token:
        # Greedily the model's own token is its favourite, so it and no other scores 1.
        for node in range(1, len(tree)):
            if scores[node] >= 1:
                own[tree.parents[node]] = tree.tokens[node]
    forks = [NO_SCORE if fork.score is None else fork.score for fork in round_.forks]
    return tree, Verdict(scores, forks, own, by_token)
