"""A separate, smaller model drafts: one of its passes per depth, over its own cache.

Source of the method: Leviathan et al. 2022, arXiv:2211.17192; Chen et al. 2023, arXiv:2302.01318.
It drafts with the very code of `full-model`, on a tree and a cache of its own.
"""

from __future__ import annotations

from typing import Sequence

import torch

from ..config import SporkConfig
from ..errors import ConfigError
from ..parts import ModelParts
from ..round_context import RoundContext
from ..states import NodeStates
from ..tree import ROOT, ForkTree
from .base import Proposer
from .full_model import FullModel


class DraftModel(Proposer):
    name = "draft-model"
    summary = "a separate smaller model with the same vocabulary: one of its passes per depth"

    def __init__(self, config: SporkConfig, parts: ModelParts):
        if parts.draft is None:
            raise ConfigError(f"no draft model was given beside {parts.name}; name one with --draft-model, or use another proposer")
        self._runner = parts.draft
        self._vocab = parts.runner.model.get_output_embeddings().weight.shape[0]
        #: Ids it can read: a model may be padded with fewer ids that stand for nothing.
        self._readable = self._runner.model.get_input_embeddings().weight.shape[0]
        self._grower = FullModel(config, parts)
        #: The tree of the last round as this model ran it, until what was kept of it is known.
        self._drafted: tuple[ForkTree, NodeStates] | None = None

    def begin(self, prompt: Sequence[int]) -> None:
        self._drafted = None
        self._runner.reset(len(prompt))
        for _ in self._runner.prefill(self._read(prompt[:-1]), logits=False):
            pass

    def propose(self, context: RoundContext) -> None:
        if context.depth == 0:
            return
        text = self._read(context.committed)
        tree = ForkTree.rooted(text[-1])
        states = _StatesOfOther(self._runner, tree, text, self._vocab)
        own = RoundContext(
            text, context.k, context.depth, context.tau, states, tree, context.law, context.end_tokens, context.deepen
        )
        self._grower.propose(own)
        self._drafted = (tree, states)
        for node in range(1, len(tree)):
            context.tree.add(tree.parents[node], tree.tokens[node], tree.draft_p[node])

    def _read(self, tokens: Sequence[int]) -> Sequence[int]:
        """The tokens, with any id this model has no embedding for replaced by one it has."""
        if self._readable >= self._vocab:
            return tokens
        return [token if token < self._readable else 0 for token in tokens]

    def committed(self, tokens: Sequence[int]) -> None:
        if self._drafted is None:
            return
        (tree, states), self._drafted = self._drafted, None
        path, node = [], ROOT
        for token in tokens[:-1]:  # the last one is the next root, which the next round runs
            node = tree.child(node, token)
            if node is None:
                break
            path.append(node)
        states.keep(path)


class _StatesOfOther(NodeStates):
    """States of a model whose rows of logits may be padded to another width than the main model's."""

    def __init__(self, runner, tree: ForkTree, committed: Sequence[int], vocab: int):
        super().__init__(runner, tree, committed)
        self._vocab = vocab

    def logits(self, nodes: Sequence[int]) -> torch.Tensor:
        rows = super().logits(nodes)[:, : self._vocab]
        return torch.nn.functional.pad(rows, (0, self._vocab - rows.shape[1]), value=-torch.inf)
