"""What drafters guess among: part of the vocabulary where it is known which part is written most."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from spork.arithmetic import BFLOAT16, FLOAT32, INT8
from spork.config import SporkConfig
from spork.draft_lens import DraftLens
from spork.draft_vocabulary import DraftVocabulary
from spork.engine import Engine
from spork.sampling import TokenLaw
from tests.spork.decode import PROMPT, rounds, transformers_greedy
from tests.tiny import bare_lens, complete_engine, tiny_model


@pytest.fixture(scope="module")
def engine() -> Engine:
    return complete_engine(tiny_model("llama"), draft_tokens=40)


@pytest.mark.parametrize("family", ["llama", "gemma2", "phi", "gpt2"])
def test_its_logits_are_the_models_own_of_those_tokens(family):
    """Soft-caps and scales of the model's head included."""
    runner = Engine(tiny_model(family)).runner
    hidden = torch.randn(3, runner.model.get_output_embeddings().weight.shape[1])
    ids = torch.tensor([5, 2, 30, 7])
    torch.testing.assert_close(DraftVocabulary(runner, ids).logits(hidden), runner.head(hidden)[:, ids], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(DraftVocabulary(runner).logits(hidden), runner.head(hidden))


def test_under_sampling_the_noise_is_that_of_the_same_tokens(engine):
    """So that who guesses as the model does guesses what it will sample."""
    law, hidden = TokenLaw(SporkConfig(temperature=0.7, seed=3), 1.0), torch.randn(2, 48)
    ids = torch.tensor([9, 4, 33])
    some, every = (DraftVocabulary(engine.runner, chosen).log_p(hidden, law, [8, 9]) for chosen in (ids, None))
    torch.testing.assert_close(some, every[:, ids].log_softmax(dim=-1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("arithmetic, within", [(FLOAT32, 1e-5), (BFLOAT16, 5e-2), (INT8, 0.1)])
def test_a_lens_made_ready_predicts_what_the_fitted_one_does(engine, arithmetic, within):
    lens = bare_lens(engine)
    maps = lens.layers[1]
    for part in (maps.plain, maps.informed):
        part.weight += 0.1 * torch.randn(part.weight.shape)
        part.bias += torch.randn(part.bias.shape)
    ready = DraftLens(lens, engine.runner, DraftVocabulary(engine.runner, torch.arange(9), arithmetic))
    tapped, before = torch.randn(3, 48), torch.randn(3, 48)
    for given in (None, before):
        predicted = ready.final_state(tapped, given)
        assert predicted.dtype == arithmetic.dtype
        torch.testing.assert_close(predicted.float(), maps.final_state(tapped, given), rtol=within, atol=within)


def test_early_exit_drafts_the_tokens_that_the_head_does(engine):
    ids = engine.encode(PROMPT, raw=True)
    got = rounds(engine, ids, proposer="early-exit", k=3, m=2, budget="full", max_new_tokens=30)
    assert {n.token_id for r in got for n in r.nodes if n.draft_p is not None} <= set(range(40))
    assert [t for r in got for t in r.committed] == transformers_greedy(engine.loaded, ids, 30)


def test_without_a_head_it_drafts_any(engine):
    bare = Engine(tiny_model("llama"))
    bare.parts.lens = bare_lens(bare)
    assert len(bare.parts.draft_lens().vocabulary.ids) == bare.loaded.model.get_output_embeddings().weight.shape[0]
    got = rounds(bare, bare.encode(PROMPT, raw=True), proposer="early-exit", k=3, m=2, budget="full", max_new_tokens=30)
    assert max(n.token_id for r in got for n in r.nodes if n.draft_p is not None) >= 40


def test_it_is_made_ready_once_and_again_for_another_lens_or_head():
    engine = complete_engine(tiny_model("llama"))
    first = engine.parts.draft_lens()
    assert engine.parts.draft_lens() is first
    engine.parts.lens = replace(engine.parts.lens)
    second = engine.parts.draft_lens()
    assert second is not first and engine.parts.draft_lens() is second
    engine.parts.head = None
    third = engine.parts.draft_lens()
    assert third.vocabulary is not first.vocabulary and engine.parts.draft_lens() is third
    engine.parts.lens = None
    assert engine.parts.draft_lens() is None


def test_below_the_root_it_reads_what_it_made_of_the_parent():
    """Through a lens that hands the state before on, every level says what the first one does."""
    engine = complete_engine(tiny_model("llama"))
    maps, width = engine.parts.lens.layers[1], 48
    maps.informed.weight = torch.cat([torch.zeros(width, width), torch.eye(width)], dim=1)
    got = rounds(engine, engine.encode(PROMPT, raw=True), proposer="early-exit", k=2, m=2, budget="full", max_new_tokens=12)
    for r in got:
        drafted = {n.id: n for n in r.nodes if n.draft_p is not None}
        best = [n for n in drafted.values() if n.depth == 1 and n.rank == 0]
        for node in drafted.values():
            if node.depth > 1:
                assert node.token_id == best[0].token_id
                assert node.draft_p == pytest.approx(best[0].draft_p, rel=1e-3)
    assert any(n.depth == 3 for r in got for n in r.nodes if n.draft_p is not None)
