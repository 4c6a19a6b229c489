"""Tree passes against plain passes, cache compaction, and refusals."""

from __future__ import annotations

import itertools

import pytest
import torch

from spork.engine import Engine
from spork.errors import ModelError
from spork.kv_cache import TreeCache
from spork.runner import ModelRunner
from spork.states import NodeStates
from spork.tree import ROOT, ForkTree
from tests.tiny import FAMILIES, REFUSED, refused_model, tiny_model

TEXT = [10, 40, 7, 99, 23, 64, 12, 80, 41, 5, 77]


def prefilled(runner: ModelRunner, text: list[int]) -> None:
    runner.reset(64)
    for _ in runner.prefill(text[:-1], logits=False):
        pass


def chain_logits(model, tokens: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        return model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0]


def bushy_tree() -> ForkTree:
    tree = ForkTree.rooted(TEXT[-1])
    for path in ([3, 14, 15], [3, 14, 92], [65, 35], [89], [3, 79]):
        tree.add_path(path)
    return tree


@pytest.mark.parametrize("family", FAMILIES)
def test_every_node_sees_its_own_path_and_nothing_else(family):
    runner = ModelRunner(tiny_model(family).model)
    tree = bushy_tree()
    prefilled(runner, TEXT)
    states = NodeStates(runner, tree, TEXT)
    states.run(range(len(tree)))
    for node in range(len(tree)):
        expected = chain_logits(runner.model, TEXT + tree.path_tokens(node))[-1]
        torch.testing.assert_close(states.logits([node])[0], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", ["llama", "mistral_sliding", "gemma2"])
def test_passes_by_depth_give_what_one_pass_gives(family):
    runner = ModelRunner(tiny_model(family).model)
    tree = bushy_tree()
    prefilled(runner, TEXT)
    whole = NodeStates(runner, tree, TEXT)
    whole.run(range(len(tree)))
    prefilled(runner, TEXT)
    stepwise = NodeStates(runner, tree, TEXT)
    for depth in range(tree.depth + 1):
        stepwise.run([n for n in range(len(tree)) if tree.depths[n] == depth])
    assert len(stepwise.full_passes) == tree.depth + 1
    nodes = range(len(tree))
    torch.testing.assert_close(stepwise.logits(nodes), whole.logits(nodes), rtol=1e-4, atol=1e-4)


def test_a_node_is_never_run_twice():
    runner = ModelRunner(tiny_model("llama").model)
    tree = bushy_tree()
    prefilled(runner, TEXT)
    states = NodeStates(runner, tree, TEXT)
    states.run([ROOT, 1])
    states.run(range(len(tree)))
    states.run(range(len(tree)))
    rows = [n for p in states.full_passes for n in p.nodes]
    assert sorted(rows) == list(range(len(tree)))


@pytest.mark.parametrize("leaf", range(8))
def test_after_compaction_the_model_reads_the_kept_path_and_only_that(leaf):
    """A wrong compaction still gives fluent text, so every path of a bushy tree is compared."""
    runner = ModelRunner(tiny_model("llama").model)
    tree = bushy_tree()
    path = tree.path(leaf)
    prefilled(runner, TEXT)
    states = NodeStates(runner, tree, TEXT)
    states.run(range(len(tree)))
    states.keep(path)
    assert runner.length == len(TEXT) + len(path)
    output = runner.forward([33], trunk=1, ancestors=())
    expected = chain_logits(runner.model, [*TEXT, *tree.path_tokens(leaf), 33])[-1]
    torch.testing.assert_close(output.logits[0], expected, rtol=1e-4, atol=1e-4)


def test_compaction_moves_overlapping_slots_safely():
    for size in (1, 2, 3, 4):
        for slots in itertools.permutations(range(3, 7), size):
            cache = TreeCache(1)
            cache.reserve(8)
            rows = torch.arange(8.0).view(1, 1, 8, 1)
            cache.update(rows[:, :, :7], rows[:, :, :7] + 100, 0)
            cache.length, cache.cursor = 3, 7
            cache.keep(slots)
            kept = cache.layers[0].keys[0, 0, : cache.length, 0].tolist()
            assert kept == [0, 1, 2, *slots]
            assert cache.layers[0].values[0, 0, : cache.length, 0].tolist() == [100 + v for v in kept]
            assert cache.cursor == cache.length == 3 + size


def test_a_cache_that_grows_keeps_what_it_holds():
    runner = ModelRunner(tiny_model("llama").model)
    runner.reset(4)
    output = [runner.forward([t], trunk=1, ancestors=()).logits[0] for t in TEXT]
    torch.testing.assert_close(torch.stack(output), chain_logits(runner.model, TEXT), rtol=1e-4, atol=1e-4)


def test_early_passes_stop_at_their_layer_and_give_the_states_a_full_pass_gives():
    runner = ModelRunner(tiny_model("llama").model)
    tree = bushy_tree()
    ran = []
    for i, layer in enumerate(runner.layers):
        layer.register_forward_hook(lambda *_, i=i: ran.append(i))
    prefilled(runner, TEXT)
    early = NodeStates(runner, tree, TEXT, taps=(2,))
    early.run([ROOT])
    ran.clear()
    early.run_early(range(len(tree)))
    assert set(ran) == {0, 1}
    assert runner.length == len(TEXT)
    prefilled(runner, TEXT)
    full = NodeStates(runner, tree, TEXT, taps=(2,))
    full.run(range(len(tree)))
    nodes = range(len(tree))
    torch.testing.assert_close(early.tapped(nodes, 2), full.tapped(nodes, 2), rtol=1e-4, atol=1e-4)
    before = len(ran)
    full.run_early(nodes)
    assert len(ran) == before, "states that a full pass left are not run for again"


def test_nothing_stays_on_the_model_after_a_pass_however_it_ends():
    runner = ModelRunner(tiny_model("llama").model)
    hooks = lambda: [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in runner.model.modules()]
    before = hooks()
    runner.reset(16)
    runner.forward([1, 2], trunk=2, ancestors=(), taps=(1, 2), want_final=True)
    runner.reset(16)
    runner.forward([1, 2], trunk=0, ancestors=[[], []], positions=[0, 0], taps=(1,), stop_after_taps=True)
    runner.reset(16)
    with pytest.raises(IndexError):
        runner.forward([10**6], trunk=1, ancestors=(), taps=(1,))
    assert hooks() == before


def test_the_models_own_head_is_what_states_are_read_with():
    for family in ("llama", "gemma2", "gpt2"):
        runner = ModelRunner(tiny_model(family).model)
        runner.reset(16)
        output = runner.forward(TEXT, trunk=len(TEXT), ancestors=(), want_final=True)
        torch.testing.assert_close(runner.head(output.final), output.logits, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", REFUSED)
def test_models_that_cannot_work_are_refused_with_reason_and_remedy(kind):
    with pytest.raises(ModelError) as caught:
        Engine(refused_model(kind))
    assert "\n" not in str(caught.value)
    assert "use " in str(caught.value)


def test_a_kernel_without_tree_masks_is_refused():
    loaded = tiny_model("llama")
    loaded.model.config._attn_implementation = "flash_attention_2"
    with pytest.raises(ModelError, match="flash_attention_2.*sdpa"):
        Engine(loaded)


def test_a_model_whose_tree_attention_is_wrong_is_caught_at_the_door(monkeypatch):
    """A family that ignores the mask it is given must not decode plausible nonsense."""
    loaded = tiny_model("llama")
    plain = type(loaded.model.model).forward

    def ignores_mask(self, *args, **kwargs):
        kwargs["attention_mask"] = None
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(type(loaded.model.model), "forward", ignores_mask)
    with pytest.raises(ModelError, match="token tree"):
        Engine(loaded)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_both_attention_kernels_work(attention):
    engine = Engine(tiny_model("llama", attention=attention))
    assert engine.loaded.model.config._attn_implementation == attention
