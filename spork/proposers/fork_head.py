"""The fork head: a small trained network on the model's last hidden state drafts a dynamic tree.

It starts from the final state of the token before the root, which verifying the last round left
behind, so it costs no pass of the model. Where a verifier leaves none (it accepted without a full
pass), the root is run first, and the model's own first tokens lead the forks.

The head reads one state and sees no text, so what it can least guess is what stands in the text
already: names, copied phrases, the next line of a list. How the text went on after the longest
earlier match of its own ending is therefore given to it as one more path.
"""

from __future__ import annotations

from typing import Sequence

import torch

from ..beams import GivenPath, draft, plant
from ..config import SporkConfig
from ..errors import ConfigError
from ..matches import Matches
from ..parts import ModelParts
from ..round_context import RoundContext
from ..tree import ROOT
from .base import Proposer


class ForkHead(Proposer):
    name = "fork-head"
    summary = "a small trained head on the model's last hidden state, and what the text said before: a few per cent of a pass per depth"
    wants_final = True

    def __init__(self, config: SporkConfig, parts: ModelParts, alone: bool = False):
        """`alone` leaves the text's own repetitions out."""
        if parts.head is None:
            raise ConfigError(
                f"no fork head was trained for {parts.name}; make one with train-head, or use another proposer"
            )
        self._head = parts.head
        self._matches = None if alone else Matches()

    def begin(self, prompt: Sequence[int]) -> None:
        self.committed(prompt)

    def committed(self, tokens: Sequence[int]) -> None:
        if self._matches is not None:
            self._matches.append(tokens)

    def given(self, levels: int) -> GivenPath | None:
        """What the text itself has for the next tokens, a path of `levels`; None where it has nothing."""
        path = next(self._matches.paths(levels), None) if self._matches is not None else None
        if path is None:
            return None
        tokens, chances = zip(*path, *[(0, 0.0)] * (levels - len(path)))
        return GivenPath(torch.tensor(tokens), torch.tensor(chances).log())

    def propose(self, context: RoundContext) -> None:
        if context.depth == 0:
            return
        head, ids, states = self._head, self._head.vocabulary.ids, context.states
        root = torch.tensor([context.tree.tokens[ROOT]], device=ids.device)
        if states.before_root is None:
            states.run([ROOT])
        if (final := states.final(ROOT)) is not None:
            state = head.start(final[None])
            first = context.ranked([ROOT])[0].log_softmax(dim=-1)
            first_ids = torch.arange(len(first), device=root.device)
        else:
            state = head.step(head.start(states.before_root[None]), root)
            first, first_ids = self._log_p(context, state, 0)[0], ids
        deepen, given = context.deepen, self.given(context.depth)
        candidates = draft(
            state, first, first_ids, levels=context.depth, forks=context.k,
            step=head.step, read=lambda states, level: self._log_p(context, states, level), ids=ids,
            ends=torch.tensor(sorted(context.end_tokens), dtype=torch.long, device=root.device),
            deepen=None if deepen is None else lambda reach: deepen(reach.exp().tolist()),
            given=given.to(root.device) if given is not None else None,
        )
        plant(context.tree, candidates, context.budget)

    def _log_p(self, context: RoundContext, states: torch.Tensor, level: int) -> torch.Tensor:
        """Log-probabilities [n, v] of the token after nodes at `level`, over the head's vocabulary."""
        position = len(context.committed) + level
        return self._head.vocabulary.log_p(self._head.read(states), context.law, [position] * len(states))
