"""The fork head: its files, its training, and that what it learns is accepted."""

from __future__ import annotations

import json

import pytest
import torch

from spork.cli import main
from spork.config import SporkConfig
from spork.arithmetic import BFLOAT16, FLOAT32, INT8
from spork.draft_head import DraftHead
from spork.engine import Engine
from spork.errors import ConfigError, ModelError
from spork.fitted import fingerprints
from spork.fork_head import ForkHead, TrainedHead, find_head
from spork.progress import ignore
from spork.proposers import ForkHead as ForkHeadProposer
from spork.training.self_text import Written
from spork.training.train_head import Recipe, batch_at, frequent_tokens, train_head
from spork.verifiers.exact import Exact
from tests.spork.decode import PROMPT, decode, rounds, transformers_greedy
from tests.tiny import tiny_model

RECIPE = Recipe(state_width=64, draft_tokens=400, steps=150, batch=4, rate=1e-2, held_out=2, seed=3)


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(tiny_model("llama"))


@pytest.fixture(scope="module")
def text(engine) -> list[Written]:
    """What the tiny model writes from a few beginnings, each twice, so that what is held out was also met."""
    starts = [engine.encode(f"{PROMPT} {word}", raw=True) for word in "the sea hen ab in on other then her ton".split()]
    return [Written(ids + decode(engine, ids, max_new_tokens=60).token_ids, len(ids)) for ids in starts] * 2


@pytest.fixture(scope="module")
def trained(engine, text) -> TrainedHead:
    return train_head(engine, text, RECIPE, ignore)


def random_head(model, width: int = 48) -> TrainedHead:
    torch.manual_seed(0)
    return TrainedHead(ForkHead(width, 32), torch.arange(50), fingerprints(model), {"top1": 0.5}, {"command": "a test"})


def test_a_trained_head_agrees_with_the_model_and_is_accepted(engine, text, trained):
    assert trained.agreement["top1"] > 0.3
    assert trained.agreement["top1"] <= trained.agreement["top4"] <= trained.agreement["top8"] <= 1
    engine.parts.head = DraftHead(trained, engine.runner)
    try:
        ids = engine.encode(PROMPT, raw=True)
        got = rounds(engine, ids, proposer="fork-head", k=4, m=3, max_new_tokens=60)
        assert [t for r in got for t in r.committed] == transformers_greedy(engine.loaded, ids, 60)
        assert max(len(r.committed) for r in got) >= 3
        assert sum(r.decision == "accepted" for r in got) > len(got) / 5
    finally:
        engine.parts.head = None


@pytest.mark.parametrize("arithmetic", [FLOAT32, BFLOAT16, INT8], ids=lambda a: a.name)
def test_the_text_is_greedys_whatever_the_head_drafts_in(engine, trained, monkeypatch, arithmetic):
    monkeypatch.setattr("spork.draft_head._fastest", lambda trained: arithmetic)
    engine.parts.head = DraftHead(trained, engine.runner)
    try:
        assert engine.parts.head.vocabulary.arithmetic is arithmetic
        ids = engine.encode(PROMPT, raw=True)
        got = rounds(engine, ids, proposer="fork-head", k=4, m=3, max_new_tokens=40)
        assert [t for r in got for t in r.committed] == transformers_greedy(engine.loaded, ids, 40)
        assert max(len(r.committed) for r in got) >= 3
    finally:
        engine.parts.head = None


def test_training_is_seeded(engine, text, trained):
    again = train_head(engine, text, RECIPE, ignore)
    for name, weight in trained.network.state_dict().items():
        assert torch.equal(weight, again.network.state_dict()[name]), name


def test_training_goes_on_from_its_checkpoint_to_the_same_head(engine, text, trained, tmp_path, monkeypatch):
    monkeypatch.setattr("spork.training.train_head.SAVE_EVERY", 20)
    checkpoint = tmp_path / "head.checkpoint"

    def breaks_off(message: str, fraction: float | None) -> None:
        if fraction > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_head(engine, text, RECIPE, breaks_off, checkpoint=checkpoint)
    assert checkpoint.is_file()
    seen: list[float] = []
    again = train_head(engine, text, RECIPE, lambda m, f: seen.append(f), checkpoint=checkpoint)
    assert seen[0] > 0.3, "it did not begin again"
    assert not checkpoint.exists()
    for name, weight in trained.network.state_dict().items():
        torch.testing.assert_close(weight, again.network.state_dict()[name])


def test_a_head_saves_and_loads_and_knows_its_model(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("SPORK_CACHE", str(tmp_path))
    head = random_head(engine.loaded.model)
    head.save(tmp_path / "heads" / "tiny-llama.safetensors")
    about = json.loads((tmp_path / "heads" / "tiny-llama.json").read_text())
    assert about["draft_tokens"] == 50 and about["provenance"] == {"command": "a test"}
    again = find_head("tiny-llama", engine.loaded.model)
    assert again.draft_vocab.tolist() == list(range(50))
    for name, weight in head.network.state_dict().items():
        torch.testing.assert_close(weight, again.network.state_dict()[name], rtol=1e-2, atol=1e-2)
    assert find_head("tiny-llama", tiny_model("llama", seed=1).model) is None, "other weights, other head"


@pytest.mark.parametrize("damage", [lambda d: d[:100], lambda d: b"", lambda d: d[:-5]])
@pytest.mark.parametrize("suffix", [".safetensors", ".json"])
def test_a_damaged_head_is_refused_in_one_line(engine, tmp_path, damage, suffix):
    path = tmp_path / "head.safetensors"
    random_head(engine.loaded.model).save(path)
    part = path.with_suffix(suffix)
    part.write_bytes(damage(part.read_bytes()))
    with pytest.raises(ModelError, match="damaged") as caught:
        TrainedHead.load(path)
    assert "\n" not in str(caught.value)


def test_a_newer_head_is_refused_by_name(engine, tmp_path, monkeypatch):
    monkeypatch.setattr("spork.fork_head.FORMAT", 99)
    random_head(engine.loaded.model).save(tmp_path / "new.safetensors")
    monkeypatch.setattr("spork.fork_head.FORMAT", 1)
    with pytest.raises(ModelError, match="newer"):
        TrainedHead.load(tmp_path / "new.safetensors")


def test_a_head_of_another_width_is_refused(engine):
    with pytest.raises(ModelError, match="wide"):
        DraftHead(random_head(engine.loaded.model, width=40), engine.runner)


def test_without_a_head_the_proposer_says_what_to_do(engine):
    with pytest.raises(ConfigError, match="train-head"):
        engine.check(PROMPT, SporkConfig(proposer="fork-head"))


def test_recipes_that_cannot_work_are_refused(engine, text):
    for change, says in [({"steps": 0}, "steps"), ({"rate": 0.0}, "rate"), ({"held_out": 50}, "too few")]:
        with pytest.raises(ConfigError, match=says):
            train_head(engine, text, Recipe(**{"state_width": 8, "held_out": 2} | change), ignore)


def test_further_text_is_not_trained_on_where_it_answers_a_held_out_prompt(engine, text):
    few = Recipe(state_width=8, draft_tokens=50, steps=1, batch=2, held_out=3, seed=0)
    alone = train_head(engine, text, few, ignore).provenance["sequences"]
    assert alone == len(text) - 3
    again = train_head(engine, text, few, ignore, more=text).provenance["sequences"]
    prompts = [tuple(w.tokens[: w.prompt]) for w in text]
    assert alone < again < alone + len(text)
    assert again - alone in {len(text) - 2 * kinds for kinds in (2, 3)}, "each prompt stands twice in the text"
    other = [Written([5, *w.tokens], w.prompt + 1) for w in text]
    assert not {tuple(w.tokens[: w.prompt]) for w in other} & set(prompts)
    assert train_head(engine, text, few, ignore, more=other).provenance["sequences"] == alone + len(text)


def test_every_example_is_met_once_an_epoch():
    recipe = Recipe(batch=3, seed=1)
    assert sorted(i for step in range(3) for i in batch_at(step, 9, recipe)) == list(range(9))
    assert batch_at(4, 9, recipe) == batch_at(4, 9, recipe)
    assert batch_at(0, 2, recipe), "fewer examples than a batch still make one"


def test_frequent_tokens_come_first():
    assert frequent_tokens([[5, 5, 7], [7, 5, 9]], 2).tolist() == [5, 7]
    assert frequent_tokens([[5, 5, 7]], 4, [7, 1, 2, 3]).tolist() == [5, 7, 1, 2]


def test_the_command_trains_and_saves_what_generate_then_uses(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SPORK_CACHE", str(tmp_path / "cache"))
    loaded = tiny_model("llama")
    folder = tmp_path / "model"
    loaded.model.save_pretrained(folder), loaded.tokenizer.save_pretrained(folder)
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("\n".join(f"the {word} then" for word in "sea hen ab in on ton".split()))
    common = ["--model", str(folder), "--dtype", "float32", "--device", "cpu"]
    train = ["train-head", *common, "--prompts", str(prompts), "--tokens", "300", "--steps", "3", "--batch", "2", "--state-width", "16", "--held-out", "2"]
    assert main(train) == 0
    assert "held-out" in capsys.readouterr().out
    assert main(["generate", "the sea", *common, "--proposer", "fork-head", "--max-new-tokens", "8", "--raw", "--json"]) == 0
    result = json.loads(capsys.readouterr().out.rstrip("\n").split("\n")[-1])
    engine = Engine(loaded)
    assert result["token_ids"] == transformers_greedy(loaded, engine.encode("the sea", raw=True), 8)


def test_the_texts_own_repetitions_are_drafted_beside_the_heads_guesses(engine):
    """A head that knows nothing still follows a list; alone it does not. The bounds hold, and the text is greedy's."""
    engine.parts.head = DraftHead(random_head(engine.loaded.model), engine.runner)
    try:
        block = engine.encode("the hen on the sea in her ton", raw=True)
        ids = [*block * 3, *block[:3]]
        config = SporkConfig(proposer="fork-head", k=3, m=3, budget="full", max_new_tokens=12)
        trees = {}
        for alone in (False, True):
            parts = ForkHeadProposer(config, engine.parts, alone=alone), Exact(config, engine.parts)
            _, *got, finished = engine.run_parts(parts, ids, config)
            assert finished.token_ids == transformers_greedy(engine.loaded, ids, 12)
            assert all(len(r.forks) <= 3 and len(r.nodes) <= 3 * 4 + 1 for r in got)
            first = got[0]
            by_id = {n.id: n for n in first.nodes}
            trees[alone] = {tuple(by_id[i].token_id for i in fork.nodes) for fork in first.forks}
        assert tuple(block[3:7]) in trees[False] and tuple(block[3:7]) not in trees[True]
    finally:
        engine.parts.head = None
