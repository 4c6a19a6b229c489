"""A draft model: the same vocabulary or none at all, and a cache that follows what was kept."""

from __future__ import annotations

import pytest

from spork.config import SporkConfig
from spork.engine import Engine
from spork.errors import ConfigError, ModelError
from spork.proposers.auto import Auto
from spork.proposers.fork_head import ForkHead
from spork.proposers.lookup import Lookup
from spork.proposers.recycling import Recycling
from tests.spork.decode import PROMPT, decode, rounds, transformers_greedy
from tests.tiny import complete_engine, tiny_model, tiny_tokenizer


@pytest.fixture(scope="module")
def loaded():
    return tiny_model("llama")


def test_a_model_that_drafts_for_itself_is_always_right(loaded):
    engine = Engine(loaded, tiny_model("llama"))
    got = rounds(engine, engine.encode(PROMPT, raw=True), proposer="draft-model", k=2, m=3, max_new_tokens=40)
    assert [len(r.committed) for r in got] == [5] * 8


@pytest.mark.parametrize("family, seed", [("llama", 7), ("gpt2", 0), ("gemma2", 2)])
def test_another_model_changes_the_speed_and_not_the_text(loaded, family, seed):
    engine = Engine(loaded, tiny_model(family, seed=seed))
    ids = engine.encode(PROMPT, raw=True)
    expected = transformers_greedy(loaded, ids, 40)
    for budget in ("full", "auto"):
        assert decode(engine, ids, proposer="draft-model", k=3, m=3, max_new_tokens=40, budget=budget).token_ids == expected


@pytest.mark.parametrize("extra", [-24, 40])
def test_logits_padded_to_another_width_make_no_difference(loaded, extra):
    width = len(loaded.tokenizer) + 32
    wide, other = tiny_model("llama", vocab_size=width), tiny_model("llama", seed=4, vocab_size=width + extra)
    engine = Engine(wide, other)
    ids = engine.encode(PROMPT, raw=True)
    for temperature in (0.0, 0.8):
        plain = [*engine.run_ids(ids, SporkConfig(max_new_tokens=30, temperature=temperature), plain=True)][-1]
        assert decode(engine, ids, proposer="draft-model", max_new_tokens=30, temperature=temperature).token_ids == plain.token_ids


def test_another_vocabulary_is_refused_by_the_token_that_differs(loaded):
    tokenizer = tiny_tokenizer()
    tokenizer.add_tokens(["<odd>"])
    with pytest.raises(ModelError, match="another vocabulary.*<odd>"):
        Engine(loaded, tiny_model("llama", tokenizer=tokenizer))


def test_without_a_draft_model_the_proposer_says_what_to_do(loaded):
    with pytest.raises(ConfigError, match="--draft-model"):
        Engine(loaded).check(PROMPT, SporkConfig(proposer="draft-model"))


def test_one_run_leaves_nothing_to_the_next(loaded):
    engine = Engine(loaded, tiny_model("llama", seed=7))
    ids, other = engine.encode(PROMPT, raw=True), engine.encode("another text altogether", raw=True)
    first = rounds(engine, ids, proposer="draft-model", max_new_tokens=20)
    rounds(engine, other, proposer="draft-model", max_new_tokens=20)
    again = rounds(engine, ids, proposer="draft-model", max_new_tokens=20)
    assert [r.nodes for r in first] == [r.nodes for r in again]


@pytest.mark.parametrize("text, chosen", [([*range(3, 13)] * 3, "lookup"), ([*range(3, 33)], "recycling")])
def test_auto_follows_a_long_match_and_drafts_otherwise(loaded, monkeypatch, text, chosen):
    auto = Auto.made_for(SporkConfig(), Engine(loaded).parts)
    auto.begin(text)
    asked = []
    for part in (Lookup, Recycling):
        monkeypatch.setattr(part, "propose", lambda self, context: asked.append(self.name))
    auto.propose(None)
    assert asked == [chosen]


def test_auto_takes_the_best_the_model_has(loaded):
    assert Auto.made_for(SporkConfig(), Engine(loaded).parts).reads_logits, "recycling"
    assert not Auto.made_for(SporkConfig(), Engine(loaded, tiny_model("llama", seed=7)).parts).reads_logits, "draft-model"
    assert type(Auto.made_for(SporkConfig(), complete_engine(loaded).parts)) is ForkHead
