"""The default model on real prompts, against transformers' own greedy text."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from spork.cli import main
from spork.engine import Engine
from spork.fitted import fitted_places
from spork.lens import Lens
from spork.models import DEFAULT_MODEL
from spork.proposers import PROPOSERS
from tests.spork.decode import decode, first_rounds, rounds, transformers_greedy

pytestmark = pytest.mark.real_model

COUNT = 24
PHOTOSYNTHESIS = "Explain how photosynthesis works in simple terms."
PROMPTS = [
    PHOTOSYNTHESIS,
    "Write a Python function that adds two numbers, then call it three times.",
    "Repeat the word 'echo' ten times.",
    "写一首关于春天的短诗。",
]


@pytest.fixture(scope="module")
def engine(default_model) -> Engine:
    return Engine(default_model)


@pytest.fixture(scope="module")
def greedy(engine):
    """Transformers' text by prompt: (prompt ids, COUNT greedy ids)."""
    pairs = {}
    for prompt in PROMPTS:
        ids = engine.encode(prompt, raw=False)
        pairs[prompt] = (ids, transformers_greedy(engine.loaded, ids, COUNT))
    return pairs


@pytest.fixture(scope="module")
def openings(engine):
    """Short texts to continue, with what transformers writes after them."""
    texts = ["The capital of France is", "def add(a, b):", "1, 2, 3, 4, 5,", "从前有座山"]
    encoded = [engine.encode(text, raw=True) for text in texts]
    return [(ids, transformers_greedy(engine.loaded, ids, 11)) for ids in encoded]


@pytest.mark.parametrize("proposer", [name for name in PROPOSERS if name not in ("draft-model", "auto")])
def test_every_k_and_m_gives_the_text_of_transformers(engine, openings, proposer):
    """Two rounds of each shape: a whole tree, its compaction, and a pass on what that left."""
    shapes = [(k, m) for k in range(1, 9) for m in range(9)]
    for number, (k, m) in enumerate(shapes):
        ids, expected = openings[number % len(openings)]
        found = first_rounds(engine, ids, 2, proposer=proposer, k=k, m=m, max_new_tokens=m + 3)
        written = [token for round_ in found for token in round_.committed]
        assert written == expected[: len(written)], (k, m)


@pytest.mark.parametrize("proposer", [name for name in PROPOSERS if name != "draft-model"])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_longer_text_is_the_text_of_transformers(engine, greedy, proposer, prompt):
    ids, expected = greedy[prompt]
    finished = decode(engine, ids, proposer=proposer, k=4, m=3, max_new_tokens=COUNT, budget="auto")
    assert finished.token_ids == expected
    assert finished.text == engine.loaded.tokenizer.decode(expected, skip_special_tokens=True).rstrip("\ufffd")


def test_budgets_end_tokens_and_stop_strings_at_every_place_in_a_block(engine, greedy):
    """`full-model` proposes what the model writes, so blocks are long and every cut falls inside one."""
    ids, expected = greedy[PHOTOSYNTHESIS]
    shape = dict(proposer="full-model", k=2, m=3)
    blocks = [len(r.committed) for r in rounds(engine, ids, **shape, max_new_tokens=10)]
    assert blocks == [5, 5]
    for place in range(6):
        budget = decode(engine, ids, **shape, max_new_tokens=place)
        assert (budget.token_ids, budget.reason) == (expected[:place], "length")

        first = expected.index(expected[place])
        ending = Engine(replace(engine.loaded, end_tokens=frozenset({expected[place]})))
        ended = decode(ending, ids, **shape, max_new_tokens=10)
        assert (ended.token_ids, ended.reason) == (expected[: first + 1], "eos")

        tokenizer = engine.loaded.tokenizer
        before, after = tokenizer.decode(expected[:place]), tokenizer.decode(expected[: place + 1])
        stop = after[len(before) :]
        stopped = decode(engine, ids, **shape, max_new_tokens=10, stop=[stop])
        assert stopped.reason == "stop"
        assert stopped.text == after[: after.index(stop)]


def test_early_layers_accepts_sometimes_and_falls_back_sometimes(engine):
    got = rounds(
        engine, engine.encode(PHOTOSYNTHESIS, raw=False),
        proposer="full-model", verifier="early-layers", k=4, m=3, tau=0.7, max_new_tokens=40,
    )
    assert {r.decision for r in got} == {"accepted", "fallback"}


def test_the_shipped_lens_is_for_this_model_and_tells_forks_apart(engine):
    shipped = Lens.load(fitted_places("lenses", DEFAULT_MODEL)[-1])
    assert engine.parts.lens is not None
    assert shipped.fingerprints == engine.parts.lens.fingerprints
    for calibration in shipped.layers[shipped.default_layers].calibrations["lens"].values():
        assert calibration.auc > 0.7
        assert calibration.forks > 200 and calibration.agreeing > 30


def test_the_shipped_lens_beats_0_7_again_on_prompts_it_never_met(engine):
    """Measured here, not read from the file: AUC of the fork score over fresh runs."""
    from spork.training.calibrate import auc
    from spork.training.fit_lens import judge_forks

    lens = engine.parts.lens
    n = lens.default_layers
    prompts = ["How do I keep my houseplants alive in winter?", "Tell a joke about a cat.", "What is a mortgage?"]
    judged = judge_forks(engine, {n: lens.layers[n]}, prompts)[n]
    for proposer in ("full-model", "recycling"):
        score = lens.layers[n].calibration("lens", proposer)
        forks = judged.forks["lens", proposer]
        assert auc([score(f.features) for f in forks], [f.agrees for f in forks]) > 0.7, proposer


def test_generate_ends_with_json_equal_to_transformers(capsys, greedy):
    code = main([
        "generate", PHOTOSYNTHESIS, "--k", "4", "--m", "3", "--tau", "1", "--proposer", "recycling",
        "--verifier", "exact", "--max-new-tokens", str(COUNT), "--json", "--dtype", "float32", "--device", "cpu",
    ])
    result = json.loads(capsys.readouterr().out.rstrip("\n").split("\n")[-1])
    assert code == 0
    assert result["token_ids"] == greedy[PHOTOSYNTHESIS][1]
