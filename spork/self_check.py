"""A tree pass must give what plain passes give; if it does not, refuse the model before decoding.

Masks, positions and caches differ between families and releases. Rather than trust a list of
names, run a small scattered tree once, compact one path, and compare with the same text run as a
chain. A family that builds its own causal mask, or derives positions from slots, shows here.
"""

from __future__ import annotations

import torch

from .errors import ModelError
from .runner import ModelRunner
from .states import NodeStates
from .tree import ROOT, ForkTree

PREFIX = 6


@torch.inference_mode()
def check_tree_attention(runner: ModelRunner) -> None:
    """Raise ModelError when this model's tree attention or compaction is wrong."""
    vocab = runner.model.get_output_embeddings().weight.shape[0]
    text = [(7 * i + 3) % vocab for i in range(PREFIX)]
    name = type(runner.model).__name__
    try:
        tree_rows = _through_tree(runner, text, vocab)
        chain_rows = _through_chain(runner, text, vocab)
    except (RuntimeError, TypeError, ValueError, IndexError, KeyError, AttributeError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ModelError(f"{name} cannot run a token tree ({type(error).__name__}: {reason}); use another model") from error
    finally:
        runner.cache.clear()
    worst = (tree_rows - chain_rows).abs().max().item()
    spread = chain_rows.std().item()
    # A wrong mask or position moves logits by the order of their spread, rounding by far less.
    allowed = (1e-3 if runner.model.dtype == torch.float32 else 0.15) * max(spread, 1e-6) + 1e-6
    if not worst <= allowed:
        raise ModelError(f"{name} gives other logits for a token tree than for plain text, so forks cannot be verified; use another model")


def _branch(vocab: int) -> tuple[list[int], list[int]]:
    """The path that is kept and the one that is dropped."""
    return [11 % vocab, 17 % vocab, 23 % vocab], [13 % vocab, 19 % vocab]


def _through_tree(runner: ModelRunner, text: list[int], vocab: int) -> torch.Tensor:
    """Logits along the kept path run as part of a tree, then of one more token after compaction."""
    kept, dropped = _branch(vocab)
    tree = ForkTree.rooted(text[-1])
    tree.add_path(dropped)  # first, so that the kept path's slots are scattered
    tree.add_path(kept)
    order = sorted(range(len(tree)), key=lambda n: (tree.depths[n], n))
    runner.reset(64)
    for _ in runner.prefill(text[:-1], logits=False):
        pass
    states = NodeStates(runner, tree, text)
    states.run(order)
    path = []
    node = ROOT
    for token in kept:
        node = tree.child(node, token)
        path.append(node)
    rows = states.logits([ROOT, *path])
    states.keep(path)
    after = runner.forward([29 % vocab], trunk=1, ancestors=())
    return torch.cat([rows, after.logits])


def _through_chain(runner: ModelRunner, text: list[int], vocab: int) -> torch.Tensor:
    kept, _ = _branch(vocab)
    runner.reset(64)
    output = runner.forward([*text, *kept, 29 % vocab], trunk=len(text) + len(kept) + 1, ancestors=())
    return output.logits[len(text) - 1 :]
