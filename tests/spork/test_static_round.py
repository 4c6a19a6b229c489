"""Rounds of fixed shape give what the loop gives, round by round; here without a graph, on the CPU."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from spork.config import SporkConfig
from spork.draft_head import DraftHead
from spork.engine import Engine
from spork.fixed_rounds import can_serve
from spork.graphs import Rounds, tier_for
from spork.progress import ignore
from spork.proposers import PROPOSERS
from spork.static_round import Shape, _walk
from spork.training.self_text import Written
from spork.training.train_head import Recipe, train_head
from spork.verifiers import VERIFIERS
from tests.spork.decode import PROMPT, decode, rounds, transformers_greedy
from tests.tiny import complete_engine, tiny_model


def with_fixed_rounds(engine: Engine) -> Engine:
    engine.rounds = Rounds(engine.runner, engine.parts.head, engine.loaded.end_tokens)
    return engine


@pytest.fixture(scope="module")
def trained() -> Engine:
    """A tiny model with a head that is right often enough for long accepted paths."""
    engine = Engine(tiny_model("llama"))
    text = []
    for word in "the sea hen ab in on other then her ton".split():
        ids = engine.encode(f"{PROMPT} {word}", raw=True)
        text.append(Written(ids + decode(engine, ids, max_new_tokens=60).token_ids, len(ids)))
    head = train_head(engine, text * 2, Recipe(state_width=64, draft_tokens=400, steps=150, batch=4, rate=1e-2, held_out=2), ignore)
    engine.parts.head = DraftHead(head, engine.runner)
    return engine


@pytest.mark.parametrize("k", range(1, 9))
def test_each_round_is_the_round_of_the_loop(trained, k):
    ids = trained.encode(PROMPT, raw=True)
    for m in (0, 2, 8):
        settings = dict(proposer="fork-head", k=k, m=m, max_new_tokens=40)
        trained.rounds = None
        expected = rounds(trained, ids, **settings)
        got = rounds(with_fixed_rounds(trained), ids, **settings)
        trained.rounds = None
        assert [t for r in got for t in r.committed] == [t for r in expected for t in r.committed], (k, m)
        whole = [r for r in expected if r.m + 1 <= 40 - sum(len(e.committed) for e in expected[: r.index]) - 1]
        for fixed, plain in zip(got, whole):  # beyond these the loop's trees shrink, and fixed rounds draft nothing
            assert fixed.committed == plain.committed
            assert {(n.token_id, n.depth, n.status) for n in fixed.nodes} == {(n.token_id, n.depth, n.status) for n in plain.nodes}


@pytest.mark.parametrize("family", ["gpt2", "qwen2", "gemma2", "mistral_sliding", "phi", "gpt_neox"])
@pytest.mark.parametrize("budget", ["full", "auto"])
def test_every_family_gives_the_text_of_transformers(family, budget):
    engine = with_fixed_rounds(complete_engine(tiny_model(family)))
    ids = engine.encode(PROMPT, raw=True)
    expected = transformers_greedy(engine.loaded, ids, 40)
    assert decode(engine, ids, proposer="fork-head", k=3, m=3, max_new_tokens=40, budget=budget).token_ids == expected
    *_, plain = engine.run_ids(ids, SporkConfig(max_new_tokens=40), plain=True)
    assert plain.token_ids == expected


def test_long_paths_are_accepted_and_compacted(trained):
    ids = trained.encode(PROMPT, raw=True)
    got = rounds(with_fixed_rounds(trained), ids, proposer="fork-head", k=4, m=3, max_new_tokens=60)
    trained.rounds = None
    assert max(len(r.committed) for r in got) >= 3
    assert any(n.id != i + 1 for r in got for i, n in enumerate(r.nodes) if n.status == "accepted") or len(got) > 1


def test_an_end_token_inside_a_block_ends_the_run_there(trained):
    ids = trained.encode(PROMPT, raw=True)
    free = transformers_greedy(replace(trained.loaded, end_tokens=frozenset()), ids, 40)
    for token in dict.fromkeys(free):
        ending = Engine(replace(trained.loaded, end_tokens=frozenset({token})))
        ending.parts.head = trained.parts.head
        finished = decode(with_fixed_rounds(ending), ids, proposer="fork-head", k=4, m=4, max_new_tokens=40)
        assert (finished.token_ids, finished.reason) == (free[: free.index(token) + 1], "eos")


@pytest.mark.parametrize("limit", range(12, 20))
def test_the_context_is_never_overrun(limit):
    loaded = tiny_model("gpt2")
    engine = with_fixed_rounds(complete_engine(replace(loaded, context_length=len(loaded.tokenizer(PROMPT).input_ids) + limit)))
    finished = decode(engine, engine.encode(PROMPT, raw=True), proposer="fork-head", k=2, m=5, max_new_tokens=60)
    assert finished.reason in ("context", "eos")


def test_a_second_run_meets_nothing_of_the_first(trained):
    ids, other = trained.encode(PROMPT, raw=True), trained.encode("hen and ton", raw=True)
    engine = with_fixed_rounds(trained)
    first = decode(engine, ids, proposer="fork-head", max_new_tokens=30).token_ids
    decode(engine, other, proposer="recycling", max_new_tokens=200)  # the loop in between; the cache grows
    assert decode(engine, ids, proposer="fork-head", max_new_tokens=30).token_ids == first
    trained.rounds = None


@pytest.mark.parametrize("change, served", [
    ({}, True), ({"temperature": 0.5}, False), ({"tau": 0.9}, False), ({"repetition_penalty": 1.2}, False),
])  # fmt: skip
def test_only_greedy_lossless_runs_are_served(trained, change, served):
    config = SporkConfig.checked(**{"proposer": "fork-head"} | change)
    exact = VERIFIERS["exact"](config, trained.parts)
    for name in ("fork-head", "auto"):  # auto is the fork head where there is one
        proposer = PROPOSERS[name].made_for(config, trained.parts)
        assert can_serve(config, proposer, exact, config.repetition_penalty or 1.0) is served
    assert not can_serve(config, PROPOSERS["recycling"](config, trained.parts), exact, 1.0)


def test_tiers_hold_what_is_asked():
    assert [tier_for(n) for n in (1, 256, 257, 5000)] == [256, 256, 512, 8192]
    assert Shape(2, 2, 4, 256) == Shape(2, 2, 4, 256), "shapes are keys"


def test_the_state_lives_on_the_device_between_rounds(trained):
    rounds_ = Rounds(trained.runner, trained.parts.head, frozenset())
    text = trained.encode(PROMPT, raw=True)
    tier = rounds_.prepare(200)
    for _, output in trained.runner.prefill(text[:-1], logits=False, want_final=True):
        before = output.final[-1]
    rounds_.state.set(text[-1], len(text) - 1, before)
    written = []
    for _ in range(5):
        outcome = rounds_.play(Shape(3, 3, 8, tier))
        written += [outcome.tree.tokens[n] for n in _accepted(outcome)] + [int(rounds_.state.root)]
        assert int(rounds_.state.length) == len(text) + len(written) - 1
    trained.runner.cache.clear()
    assert written == transformers_greedy(trained.loaded, text, len(written))


def _accepted(outcome) -> list[int]:
    node, path = 0, []
    while (child := outcome.tree.child(node, outcome.verdict.own_tokens[node])) is not None:
        node = child
        path.append(node)
    assert len(path) == outcome.accepted
    return path


def test_a_row_that_must_not_be_is_never_walked_to():
    """Where likely candidates run out, rows below a drafted end token fill the shape; the host drops them, so must the device."""
    tokens, parents, own = torch.tensor([7, 5, 6, 6]), torch.tensor([0, 0, 1, 1]), torch.tensor([5, 6, 9, 9])
    end, count, _ = _walk(tokens, parents, torch.tensor([0.0, -0.1, -math.inf, -math.inf]), own, 3)
    assert (int(end), int(count)) == (1, 1)
    end, count, _ = _walk(tokens, parents, torch.tensor([0.0, -0.1, -math.inf, -0.4]), own, 3)
    assert (int(end), int(count)) == (3, 2)
