"""At tau = 1, exact verification gives the model's own text, whatever is proposed and wherever it ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spork.engine import Engine
from spork.proposers import PROPOSERS
from tests.spork.decode import PROMPT, decode, first_rounds, rounds, transformers_greedy
from tests.tiny import FAMILIES, complete_engine, tiny_model

COUNT = 24
#: Those that draft themselves; `auto` hands each round to one of them.
DRAFTERS = [name for name in PROPOSERS if name != "auto"]
#: Proposers that guess well on tiny random models; a random head or lens is right by chance only.
SURE = ("full-model", "draft-model", "recycling")
SHAPES = [(3, 4), (8, 8)]


@pytest.fixture(scope="module", params=["llama", "qwen2", "gpt2"])
def engine(request) -> Engine:
    return complete_engine(tiny_model(request.param))


@pytest.fixture(scope="module")
def llama() -> Engine:
    return complete_engine(tiny_model("llama"))


@pytest.fixture(scope="module")
def text(engine):
    """The prompt's ids, and what transformers writes after them: three rounds of the longest forks."""
    ids = engine.encode(PROMPT, raw=True)
    return ids, transformers_greedy(engine.loaded, ids, 3 * 10)


@pytest.mark.parametrize("proposer", DRAFTERS)
@pytest.mark.parametrize("k", range(1, 9))
def test_every_k_and_m_gives_the_text_of_transformers(engine, text, proposer, k):
    ids, expected = text
    for m in range(9):
        found = first_rounds(engine, ids, 3, proposer=proposer, k=k, m=m, max_new_tokens=100)
        written = [token for round_ in found for token in round_.committed]
        assert written == expected[: len(written)] and len(found) >= min(3, len(expected)), (k, m)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("proposer", PROPOSERS)
def test_every_family_gives_the_text_of_transformers(family, proposer):
    engine = complete_engine(tiny_model(family))
    ids = engine.encode(PROMPT, raw=True)
    expected = transformers_greedy(engine.loaded, ids, COUNT)
    for k, m in SHAPES:
        assert decode(engine, ids, proposer=proposer, k=k, m=m, max_new_tokens=COUNT).token_ids == expected, (k, m)


def test_forks_are_really_accepted(engine):
    """The comparisons above would hold trivially if every round fell back."""
    ids = engine.encode(PROMPT, raw=True)
    for proposer in PROPOSERS:
        jumps = [len(r.committed) for r in rounds(engine, ids, proposer=proposer, k=4, m=3, max_new_tokens=120)]
        assert max(jumps) >= (3 if proposer in SURE else 2), proposer


@pytest.mark.parametrize("proposer", PROPOSERS)
def test_an_end_token_at_every_place_ends_the_run_there(llama, proposer):
    ids = llama.encode(PROMPT, raw=True)
    free = transformers_greedy(replace(llama.loaded, end_tokens=frozenset()), ids, COUNT)
    for token in dict.fromkeys(free):
        ending = complete_engine(replace(llama.loaded, end_tokens=frozenset({token, 1})))
        finished = decode(ending, ids, proposer=proposer, k=4, m=6, max_new_tokens=COUNT)
        assert finished.token_ids == transformers_greedy(ending.loaded, ids, COUNT)
        assert finished.token_ids == free[: free.index(token) + 1]
        assert finished.reason == "eos"


def test_the_earliest_of_several_end_tokens_wins_in_any_order(llama):
    ids = llama.encode(PROMPT, raw=True)
    free = transformers_greedy(replace(llama.loaded, end_tokens=frozenset()), ids, COUNT)
    late, early = free[18], free[5]
    ending = complete_engine(replace(llama.loaded, end_tokens=frozenset([late, early])))
    finished = decode(ending, ids, proposer="full-model", k=2, m=8, max_new_tokens=COUNT)
    first = min(free.index(late), free.index(early))
    assert finished.token_ids == free[: first + 1]


@pytest.mark.parametrize("proposer", PROPOSERS)
def test_a_budget_is_met_exactly_wherever_it_falls_in_a_block(llama, proposer):
    ids = llama.encode(PROMPT, raw=True)
    free = transformers_greedy(llama.loaded, ids, COUNT)
    for budget in range(COUNT + 1):
        finished = decode(llama, ids, proposer=proposer, k=3, m=5, max_new_tokens=budget)
        assert finished.token_ids == free[:budget]
        assert finished.reason in ("length", "eos")


@pytest.mark.parametrize("proposer", PROPOSERS)
def test_a_stop_string_anywhere_ends_text_and_ids_just_before_it(llama, proposer):
    ids = llama.encode(PROMPT, raw=True)
    whole = decode(llama, ids, proposer=proposer, k=4, m=6, max_new_tokens=COUNT)
    for start in range(len(whole.text) - 3):
        stop = whole.text[start : start + 3]
        finished = decode(llama, ids, proposer=proposer, k=4, m=6, max_new_tokens=COUNT, stop=[stop])
        assert finished.reason == "stop"
        assert finished.text == whole.text[: whole.text.index(stop)]
        assert finished.token_ids == whole.token_ids[: len(finished.token_ids)]
        decoded = llama.loaded.tokenizer.decode(finished.token_ids, skip_special_tokens=True)
        assert finished.text.startswith(decoded)


@pytest.mark.parametrize("proposer", PROPOSERS)
def test_the_context_limit_is_met_exactly(proposer):
    engine = complete_engine(replace(tiny_model("llama"), context_length=40))
    ids = engine.encode(PROMPT, raw=True)
    expected = transformers_greedy(engine.loaded, ids, 40 - len(ids))
    finished = decode(engine, ids, proposer=proposer, k=4, m=6, max_new_tokens=500)
    assert finished.token_ids == expected
    assert finished.reason == "context"


def test_a_models_own_repetition_penalty_is_applied_as_transformers_does():
    engine = complete_engine(tiny_model("llama"))
    engine.loaded.model.generation_config.repetition_penalty = 1.3
    ids = engine.encode(PROMPT, raw=True)
    expected = transformers_greedy(engine.loaded, ids, COUNT)
    plain = transformers_greedy(engine.loaded, ids, COUNT, repetition_penalty=1.0)
    assert expected != plain
    for proposer in PROPOSERS:
        assert decode(engine, ids, proposer=proposer, k=3, m=3, max_new_tokens=COUNT).token_ids == expected
        off = decode(engine, ids, proposer=proposer, k=3, m=3, max_new_tokens=COUNT, repetition_penalty=1.0)
        assert off.token_ids == plain


@pytest.mark.parametrize("proposer", PROPOSERS)
@pytest.mark.parametrize("settings", [
    {"temperature": 0.7}, {"temperature": 1.5, "top_k": 7}, {"temperature": 1.0, "top_p": 0.8},
    {"temperature": 0.9, "repetition_penalty": 1.2},
])
def test_sampling_with_a_seed_is_the_same_text_with_and_without_speculation(engine, proposer, settings):
    from spork.config import SporkConfig

    ids = engine.encode(PROMPT, raw=True)
    config = SporkConfig.checked(proposer=proposer, k=4, m=3, seed=12345, max_new_tokens=COUNT, **settings)
    *_, ours = engine.run_ids(ids, config)
    *_, plain = engine.run_ids(ids, config, plain=True)
    assert ours.token_ids == plain.token_ids


def test_seeds_differ_and_repeat(llama):
    ids = llama.encode(PROMPT, raw=True)
    texts = [tuple(decode(llama, ids, temperature=1.0, seed=s, max_new_tokens=30).token_ids) for s in (0, 1, 2, 0)]
    assert texts[0] == texts[3]
    assert len(set(texts)) == 3


def test_a_long_prompt_is_prefilled_in_chunks_without_a_seam(llama, monkeypatch):
    monkeypatch.setattr("spork.runner.PREFILL_CHUNK", 7)
    ids = llama.encode(PROMPT * 3, raw=True)
    expected = transformers_greedy(llama.loaded, ids, COUNT)
    for proposer in PROPOSERS:
        assert decode(llama, ids, proposer=proposer, k=4, m=3, max_new_tokens=COUNT).token_ids == expected
