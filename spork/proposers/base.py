"""The proposer interface: how a guess at the next tokens is made."""

from __future__ import annotations

from typing import ClassVar, Sequence

import torch

from ..config import SporkConfig
from ..parts import ModelParts
from ..round_context import RoundContext


class Proposer:
    """Grows the tree of a round. One instance serves one run.

    A subclass is one file with `name`, a one-line `summary` for menus, and `propose`; listing it
    in `proposers/__init__.py` is all it takes to appear on the page and the command line.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    #: Be shown what the model says after every token, the prompt's too, through `saw`.
    reads_logits: ClassVar[bool] = False
    #: Drafting runs the model over its nodes, so trimming the tree would save nothing.
    runs_model: ClassVar[bool] = False
    #: Depths (numbers of first layers) whose states `propose` will ask for.
    taps: tuple[int, ...] = ()
    #: `propose` reads final hidden states (`states.before_root`, `states.final`).
    wants_final: ClassVar[bool] = False

    def __init__(self, config: SporkConfig, parts: ModelParts):
        """Raises ConfigError for what this model cannot do."""

    @classmethod
    def made_for(cls, config: SporkConfig, parts: ModelParts) -> "Proposer":
        """The proposer that a run of this name gets with such a model. Raises ConfigError for what the model cannot do."""
        return cls(config, parts)

    def begin(self, prompt: Sequence[int]) -> None:
        """A new text starts with these tokens."""

    def saw(self, tokens: Sequence[int], logits: torch.Tensor) -> None:
        """The model ran: after `tokens[i]` it gave `logits[i]` ([n, vocab], raw). Called where `reads_logits`."""

    def committed(self, tokens: Sequence[int]) -> None:
        """These tokens were appended to the text."""

    def propose(self, context: RoundContext) -> None:
        """Add at most `context.k` forks of at most `context.depth` tokens to `context.tree`.

        A tree that branches below its forks holds at most `context.budget` nodes.
        """
        raise NotImplementedError
