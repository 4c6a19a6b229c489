"""The lens: its regression, its calibration, its file, and the verifier that reads it."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
import torch

from spork.config import EARLY_SCORES, SporkConfig
from spork.engine import Engine
from spork.errors import ConfigError, ModelError
from spork.fitted import fingerprint, fingerprints, recorded_fingerprints
from spork.lens import Lens, find_lens
from spork.proposers import Proposer
from spork.verifiers.early_layers import EarlyLayers
from spork.training.calibrate import JudgedFork, auc, calibrate, fit_logistic
from spork.training.fit_lens import default_layers, fit_lens
from spork.training.ridge import Ridge
from spork.training.self_text import Written, read_prompts, read_text, self_generated
from tests.spork.decode import PROMPT, rounds
from tests.tiny import tiny_model

PROMPTS = [f"{a} {b}" for a in ("the hen", "a sea", "on and on", "in there") for b in ("or", "then", "ab", "x")]


def fitted(engine: Engine, **options) -> tuple[Lens, list]:
    settings = {"layers": [1, 2], "tokens": 1500, "held_out": 6, "seed": 0, "progress": lambda *_: None}
    return fit_lens(engine, PROMPTS, **(settings | options))


@pytest.fixture(scope="module")
def engine() -> Engine:
    engine = Engine(tiny_model("llama"))
    engine.parts.lens, _ = fitted(engine)
    return engine


def test_ridge_finds_a_linear_map_and_adds_up_over_chunks():
    torch.manual_seed(0)
    weight, bias = torch.randn(3, 5), torch.randn(3)
    x = torch.randn(400, 5)
    y = x @ weight.T + bias
    ridge = Ridge(5, 3)
    for part in range(0, 400, 64):
        ridge.add(x[part : part + 64], y[part : part + 64])
    w, b = ridge.solve(1e-9)
    torch.testing.assert_close(w, weight, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(b, bias, rtol=1e-3, atol=1e-3)


def test_ridge_shrinks_but_does_not_fail_on_inputs_that_never_vary():
    ridge = Ridge(2, 1)
    ridge.add(torch.tensor([[1.0, 0.0], [2.0, 0.0]]), torch.tensor([[1.0], [2.0]]))
    assert ridge.solve()[0].isfinite().all()


def test_auc_by_hand():
    assert auc([1, 2, 3, 4], [False, False, True, True]) == 1.0
    assert auc([4, 3, 2, 1], [False, False, True, True]) == 0.0
    assert auc([1, 1, 1, 1], [False, True, False, True]) == 0.5
    assert auc([1, 2, 2, 3], [False, True, False, True]) == 0.875
    assert math.isnan(auc([1.0], [True]))


def test_logistic_regression_recovers_its_slope():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(4000, generator=generator, dtype=torch.float64) * 5 + 20
    y = torch.rand(4000, generator=generator, dtype=torch.float64) < torch.sigmoid(0.5 * x - 9)
    (slope,), offset = fit_logistic(x[:, None].tolist(), y.tolist())
    assert abs(slope - 0.5) < 0.06 and abs(offset + 9) < 1.2


def test_separable_data_keeps_a_finite_slope():
    (slope,), offset = fit_logistic([[1.0], [2.0], [3.0], [4.0]], [False, False, True, True])
    assert math.isfinite(slope) and math.isfinite(offset) and slope > 0


def test_a_calibrated_score_is_the_share_that_agrees():
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(3000, generator=generator).tolist()
    agrees = [float(torch.rand((), generator=generator)) < 1 / (1 + math.exp(-2 * v)) for v in x]
    forks = [JudgedFork([v], a) for v, a in zip(x, agrees)]
    c = calibrate(forks[:1500], forks[1500:])
    high = [f.agrees for f in forks[1500:] if c(f.features) > 0.7]
    low = [f.agrees for f in forks[1500:] if c(f.features) < 0.3]
    assert sum(high) / len(high) > 0.7 > 0.3 > sum(low) / len(low)
    assert 0.8 < c.auc < 1 and c.forks == 1500


def test_a_lens_saves_and_loads_and_knows_its_model(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("SPORK_CACHE", str(tmp_path))
    lens = engine.parts.lens
    lens.save(tmp_path / "lenses" / "tiny-llama.safetensors")
    again = find_lens("tiny-llama", engine.loaded.model)
    assert again.layers[1].calibrations == lens.layers[1].calibrations
    assert again.default_layers == lens.default_layers
    torch.testing.assert_close(again.layers[2].informed.weight, lens.layers[2].informed.weight, rtol=1e-2, atol=1e-2)
    assert find_lens("tiny-llama", tiny_model("llama", seed=1).model) is None, "other weights, other lens"
    assert find_lens("another-name", engine.loaded.model) is None


def test_what_was_fitted_in_float32_is_known_again_in_every_dtype():
    loaded = tiny_model("llama")
    recorded = fingerprints(loaded.model)
    assert fingerprint(loaded.model) == recorded[0]
    for dtype in (torch.bfloat16, torch.float16):
        assert fingerprint(tiny_model("llama").model.to(dtype)) in recorded, dtype
    assert fingerprint(tiny_model("llama", seed=5).model) not in recorded
    assert recorded_fingerprints({"fingerprint": "a"}) == ("a",), "as files of before have it"


@pytest.mark.parametrize("damage", [lambda d: d[:100], lambda d: b"", lambda d: b"x" * 64, lambda d: d[:-5]])
def test_a_damaged_lens_file_is_refused_in_one_line(engine, tmp_path, damage):
    path = tmp_path / "lens.safetensors"
    engine.parts.lens.save(path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ModelError, match="damaged") as caught:
        Lens.load(path)
    assert "\n" not in str(caught.value)


def test_a_damaged_lens_file_costs_early_layers_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("SPORK_CACHE", str(tmp_path))
    (tmp_path / "lenses").mkdir()
    (tmp_path / "lenses" / "tiny-llama.safetensors").write_bytes(b"x" * 64)
    engine = Engine(tiny_model("llama"))
    assert engine.parts.lens is None
    assert rounds(engine, engine.encode(PROMPT, raw=True), max_new_tokens=5)


def test_a_newer_lens_file_is_refused_by_name(engine, tmp_path, monkeypatch):
    monkeypatch.setattr("spork.lens.FORMAT", 99)
    engine.parts.lens.save(tmp_path / "new.safetensors")
    monkeypatch.setattr("spork.lens.FORMAT", 1)
    with pytest.raises(ModelError, match="newer"):
        Lens.load(tmp_path / "new.safetensors")


@pytest.mark.parametrize("proposer", ["full-model", "recycling", "lookup"])
@pytest.mark.parametrize("score", EARLY_SCORES)
def test_early_layers_runs_with_every_proposer_and_score(engine, proposer, score):
    ids = engine.encode(PROMPT, raw=True)
    got = rounds(engine, ids, proposer=proposer, verifier="early-layers", early_score=score, tau=0.2, max_new_tokens=60)
    assert all(0 <= f.score <= 1 for r in got for f in r.forks)
    assert all(r.forks[r.chosen].score >= 0.2 for r in got if r.decision == "accepted")
    assert all(f.score < 0.2 for r in got for f in r.forks if r.decision == "fallback")


def test_early_layers_costs_no_pass_where_proposing_ran_the_layers(engine, monkeypatch):
    ids = engine.encode(PROMPT, raw=True)
    passes = []
    plain = engine.runner.forward
    monkeypatch.setattr(engine.runner, "forward", lambda tokens, **kw: passes.append(kw) or plain(tokens, **kw))
    rounds(engine, ids, proposer="full-model", verifier="early-layers", tau=0.0, k=3, m=3, max_new_tokens=4)
    assert len(passes) - 1 == 4, "one pass a depth, none to verify"
    assert not any(kw.get("stop_after_taps") for kw in passes)


def test_early_layers_sees_the_context(engine):
    """The same fork after another prompt gets another score."""

    class Fixed(Proposer):
        def propose(self, context):
            context.tree.add_path([30, 31, 32][: context.depth])

    config = SporkConfig(verifier="early-layers", tau=1.0, max_new_tokens=3)
    scores = []
    for prompt in ("the hen and the", "in there on the"):
        parts = (Fixed(config, engine.parts), EarlyLayers(config, engine.parts))
        _, first, *_ = engine.run_parts(parts, engine.encode(prompt, raw=True), config)
        scores.append(first.forks[0].score)
    assert scores[0] != scores[1]


def test_layers_that_were_not_fitted_and_models_without_a_lens_are_refused(engine):
    with pytest.raises(ConfigError, match="allowed: 1, 2"):
        engine.check(PROMPT, SporkConfig(verifier="early-layers", layers=3))
    bare = Engine(tiny_model("llama", seed=9))
    with pytest.raises(ConfigError, match="fit-lens"):
        bare.check(PROMPT, SporkConfig(verifier="early-layers"))


@pytest.mark.parametrize("options, says", [
    ({"layers": [3]}, "from 1 to 2"), ({"layers": [0]}, "from 1 to 2"),
    ({"held_out": 14}, "too few"), ({"held_out": 2}, "too few"), ({"tokens": 5}, "at least 100"),
])
def test_fits_that_cannot_work_are_refused(engine, options, says):
    with pytest.raises(ConfigError, match=says):
        fitted(engine, **options)


def test_self_generated_text_is_seeded_and_long_enough(engine):
    texts = [self_generated(engine, PROMPTS[:2], 600, seed, lambda *_: None) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    assert sum(len(w.tokens) - w.prompt for w in texts[0]) >= 600
    for w in texts[0]:
        assert 0 < w.prompt < len(w.tokens)
        assert not engine.loaded.end_tokens & set(w.tokens[w.prompt : -1]), "nothing is kept after an end token"


def test_prompts_and_text_files_are_checked(tmp_path):
    import numpy as np

    (tmp_path / "p.txt").write_text("one\n\n two \none\n")
    assert read_prompts(tmp_path / "p.txt") == ["one", "two"]
    (tmp_path / "empty.txt").write_text("\n")
    for bad in ("none.txt", "empty.txt"):
        with pytest.raises(ConfigError):
            read_prompts(tmp_path / bad)
    np.savez(tmp_path / "ok.npz", tokens=[1, 2, 3, 4, 5], lengths=[2, 3])
    assert read_text(tmp_path / "ok.npz", 10) == [Written([1, 2], 0), Written([3, 4, 5], 0)]
    np.savez(tmp_path / "short.npz", tokens=[1, 2], lengths=[2, 3])
    np.savez(tmp_path / "other.npz", tokens=[1, 2, 3, 4, 50], lengths=[2, 3])
    (tmp_path / "junk.npz").write_bytes(b"junk")
    for bad in ("short.npz", "other.npz", "junk.npz", "none.npz"):
        with pytest.raises(ConfigError):
            read_text(tmp_path / bad, 10)


def test_provenance_is_json(engine):
    json.dumps(engine.parts.lens.provenance)


def test_text_that_answers_a_kept_prompt_is_not_fitted_on(engine):
    ids = [engine.encode(prompt, raw=False) for prompt in PROMPTS]
    text = [Written(prompt + [5 + i % 40 for i in range(120)], len(prompt)) for prompt in ids]
    lens, _ = fitted(engine, text=text, tokens=10**6)
    assert lens.provenance["sequences"] == len(PROMPTS) - 6, "six prompts are kept"


def test_the_first_layers_are_tried_by_default():
    assert default_layers(30) == [2, 6, 10, 20, 24]
    assert default_layers(3) == [1, 2]


def test_text_that_only_answers_kept_prompts_is_too_little(engine):
    text = [Written([*engine.encode(prompt, raw=False), 5, 6, 7], 1) for prompt in PROMPTS[:1]]
    with pytest.raises(ConfigError, match="at least 100"):
        fitted(engine, text=text)


@pytest.mark.parametrize("names", [{"draft_layers": 7}, {"default_layers": 7}])
def test_a_lens_that_names_layers_it_does_not_hold_is_damaged(engine, tmp_path, names):
    replace(engine.parts.lens, **names).save(tmp_path / "lens.safetensors")
    with pytest.raises(ModelError, match="damaged"):
        Lens.load(tmp_path / "lens.safetensors")
