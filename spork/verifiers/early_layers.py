"""The article's plan A: judge a fork by the model's first N layers, in context.

The states after layer N exist already where proposing ran the model, so scoring such a tree is
free; a tree drafted without the model costs N/L of a pass. A token is judged at its parent, where
it is predicted. Three kinds of score, each mapped to [0, 1] by a calibration fitted on held-out text
(training/fit_lens.py), so that a score reads "how likely is this fork the model's own text":

- `lens`: token probabilities through lens + lm_head. At the root, where the previous position's
  final state is known, the informed lens: the first token's share among the forks' first tokens,
  and how far it falls below the favourite; behind it, how far the other tokens fall below theirs;
- `cosine`: mean cosine between the state and the token's output embedding;
- `norm`: L2 norm of the state at the fork's last scored position.

Taking a fork on such a score changes the text.
"""

from __future__ import annotations

import math

import torch

from ..config import SporkConfig
from ..errors import ConfigError
from ..lens import LayerLens
from ..parts import ModelParts
from ..round_context import RoundContext
from ..runner import ModelRunner
from ..tree import ROOT, ForkTree
from .base import Verdict, Verifier


class EarlyLayers(Verifier):
    name = "early-layers"
    summary = "the first N layers' opinion through a fitted lens; changes the text"
    wants_final = True

    def __init__(self, config: SporkConfig, parts: ModelParts):
        if parts.lens is None:
            raise ConfigError(
                f"early-layers needs a lens fitted for {parts.name}: run `python -m spork fit-lens --model {parts.name}`, "
                "or choose another verifier"
            )
        layers = config.layers if config.layers is not None else parts.lens.default_layers
        if layers not in parts.lens.layers:
            allowed = ", ".join(str(n) for n in sorted(parts.lens.layers))
            raise ConfigError(f"the lens of {parts.name} was not fitted for {layers} layers; allowed: {allowed}")
        self.taps = (layers,)
        self._lens = parts.lens.layers[layers]
        self._kind = config.early_score
        self._calibrated = self._lens.calibration(self._kind, config.proposer)
        self._runner = parts.runner

    def verify(self, context: RoundContext) -> Verdict:
        tree = context.tree
        own = context.own_token()
        if len(tree) == 1:
            return Verdict([None], [], {ROOT: own})
        context.states.run_early(inner_nodes(tree))
        judge = EarlyJudge(self._runner, self._lens, context, self.taps[0])
        forks = [tree.deepest_path(fork) for fork in tree.children(ROOT)]
        return Verdict(
            node_scores=judge.node_scores(),
            fork_scores=[self._calibrated(judge.features(self._kind, path)) for path in forks],
            own_tokens={ROOT: own},
        )


def inner_nodes(tree: ForkTree) -> list[int]:
    """The root and every node that has children: where drafted tokens are predicted."""
    return sorted({ROOT, *(tree.parents[n] for n in range(1, len(tree)))})


class EarlyJudge:
    """Features of a tree's forks from the states of its inner nodes after N layers.

    Shared by the verifier and by the calibration, so that what is fitted is what is used.
    """

    def __init__(self, runner: ModelRunner, lens: LayerLens, context: RoundContext, layers: int):
        """The inner nodes must have been tapped at `layers`, the root run in full."""
        tree, states = context.tree, context.states
        inner = inner_nodes(tree)
        tapped = states.tapped(inner, layers)
        final = lens.final_state(tapped)
        if states.before_root is not None:
            final = torch.cat([lens.final_state(tapped[:1], states.before_root[None]), final[1:]])
        #: Next-token logits [vocab] at the root, through the lens.
        logits = runner.head(final)
        self.root_logits = logits[0]
        row = {node: i for i, node in enumerate(inner)}
        rows = torch.tensor([row[tree.parents[n]] for n in range(1, len(tree))], dtype=torch.long, device=logits.device)
        tokens = torch.tensor(tree.tokens[1:], dtype=torch.long, device=logits.device)
        firsts = tree.children(ROOT)
        ratios = logits[rows, tokens] - logits.max(dim=-1).values[rows]
        # As log-odds, which is what a sigmoid takes; a lone fork holds the whole share.
        shares = self.root_logits[[tree.tokens[f] for f in firsts]].softmax(dim=-1).logit(eps=1e-4)
        embeddings = runner.model.get_output_embeddings().weight[tokens]
        cosines = torch.cosine_similarity(tapped[rows].float(), embeddings.float(), dim=-1)
        norms = tapped.float().norm(dim=-1)[rows]
        # By node, the root's place filled: one transfer each.
        self._ratio, self._cosine, self._norm = ([0.0, *v.tolist()] for v in (ratios, cosines, norms))
        self._share = dict(zip(firsts, shares.tolist()))

    def node_scores(self) -> list[float | None]:
        """By node, p(token) / max p through the lens, in [0, 1]; None for the root."""
        return [None, *(min(1.0, math.exp(r)) for r in self._ratio[1:])]

    def features(self, kind: str, path: list[int]) -> list[float]:
        """The numbers a fork's score is calibrated from; `path` is its nodes, first token to last."""
        if kind == "lens":
            return [self._share[path[0]], self._ratio[path[0]], sum(self._ratio[n] for n in path[1:])]
        if kind == "cosine":
            return [sum(self._cosine[n] for n in path) / len(path)]
        return [self._norm[path[-1]]]
