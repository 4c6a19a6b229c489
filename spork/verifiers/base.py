"""The verifier interface: how the forks of a round are scored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ..config import SporkConfig
from ..parts import ModelParts
from ..round_context import RoundContext


@dataclass
class Verdict:
    """Scores of one round, all in [0, 1].

    `node_scores[i]` and `fork_scores[f]` go by node and by fork (None where nothing was scored).
    `own_tokens[node]` is the token the model itself would emit after that node, wherever it is
    known; the root's always is. `by_token` says a fork may be accepted in part, up to its first
    token that fails; else a fork stands or falls whole, by its fork score.
    """

    node_scores: list[float | None]
    fork_scores: list[float | None]
    own_tokens: dict[int, int] = field(default_factory=dict)
    by_token: bool = False


class Verifier:
    """Scores the tree of a round. One instance serves one run.

    A subclass is one file with `name`, `summary`, `lossless` and `verify`, listed in
    `verifiers/__init__.py`.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    #: At tau = 1 the text is the model's own, token by token.
    lossless: ClassVar[bool] = False
    #: The round also commits the model's own next token after the accepted path.
    gives_bonus: ClassVar[bool] = False
    #: Depths (numbers of first layers) whose states `verify` will ask for.
    taps: tuple[int, ...] = ()
    #: `verify` will also ask for final hidden states.
    wants_final: ClassVar[bool] = False

    def __init__(self, config: SporkConfig, parts: ModelParts):
        """Raises ConfigError for a combination that cannot work."""

    def verify(self, context: RoundContext) -> Verdict:
        """Score every fork of `context.tree`, which may hold none."""
        raise NotImplementedError
