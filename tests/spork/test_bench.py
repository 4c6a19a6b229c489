"""The benchmark: who runs, what its rows hold, and that its figures are what the runs were."""

from __future__ import annotations

import argparse
import json

import pytest
import torch

from spork.bench.contenders import Contender, Run, engine_greedy, hf_generate, lone_head, spork, warm_recycling
from spork.bench.goals import goals
from spork.bench.measure import compare, read_prompts, weight_read_floor
from spork.bench.round_times import time_rounds
from spork.cli import main
from spork.cli_bench import contenders_of
from spork.engine import Engine
from spork.graphs import Rounds
from spork.progress import ignore
from spork.proposers import PROPOSERS
from tests.spork.decode import PROMPT, transformers_greedy
from tests.tiny import complete_engine, tiny_model


@pytest.fixture(scope="module")
def engine() -> Engine:
    return complete_engine(tiny_model("llama"))


def test_every_contender_writes_the_greedy_text(engine):
    ids = engine.encode(PROMPT, raw=True)
    expected = transformers_greedy(engine.loaded, ids, 20)
    contenders = [engine_greedy(engine), hf_generate(engine, "hf-greedy"), warm_recycling(engine), lone_head(engine)]
    contenders += [hf_generate(engine, "hf-prompt-lookup", prompt_lookup_num_tokens=4)]
    contenders += [hf_generate(engine, "hf-early-exit", assistant_early_exit=1)]
    contenders += [hf_generate(engine, "hf-draft-model", assistant_model=tiny_model("llama", seed=7).model)]
    contenders += [spork(engine, proposer, "exact", k=3, m=2) for proposer in PROPOSERS]
    for contender in contenders:
        for _ in range(2):
            run = contender.run(ids, 20)
            assert run.tokens == expected, contender.name
            assert 0 < run.timed <= 20 and run.seconds > 0
    assert engine.loaded.model.config.num_hidden_layers == 3, "early exit left the model as it was"


def test_rows_are_what_the_runs_were(engine):
    """On contenders of the test's own, so that every figure is known."""
    def fixed(name: str, rates: list[float], tokens: list[int]) -> Contender:
        left = iter([1.0, *rates])  # the first run only warms up
        return Contender(name, lambda ids, count: Run(tokens, 10, 10 / next(left)))

    prompts = read_prompts(2)
    rows = compare(
        engine, [fixed("greedy", [10, 20], [1, 2]), fixed("ours", [15, 50], [1, 2]), fixed("other", [5, 10], [9])],
        prompts, 4, 1, ignore,
    )
    base, ours, other = rows
    assert (base["speedup"], base["identical"]) == (1.0, True)
    assert ours["speedup"] == pytest.approx((1.5 + 2.5) / 2) and ours["tokens_per_s"] == pytest.approx(32.5)
    assert ours["speedup_quartiles"] == pytest.approx([1.75, 2.25])
    assert ours["speedup_total"] == pytest.approx((20 / (10 / 15 + 10 / 50)) / (20 / (10 / 10 + 10 / 20)))
    assert other["identical"] is False and other["identical_prompts"] == 0
    assert ours["tokens_per_round"] is None, "no rounds were shown, so no figure is made up"


def test_the_prompts_are_of_six_kinds_and_none_is_among_the_text_heads_are_trained_on():
    prompts = read_prompts()
    assert len(prompts) == 24 and len({p.kind for p in prompts}) == 6
    assert {p.kind for p in read_prompts(6)} == {p.kind for p in prompts}
    from spork.fitted import ASSETS

    for name in ("varied.txt", "self_text.txt"):
        lines = set((ASSETS / "prompts" / name).read_text(encoding="utf-8").splitlines())
        assert not lines & {p.text for p in prompts}


def test_the_floor_counts_every_weight_a_pass_reads():
    tied, loose = tiny_model("llama", tie_word_embeddings=True), tiny_model("llama", tie_word_embeddings=False)
    for loaded in (tied, loose):
        floor = weight_read_floor(Engine(loaded))
        weights = dict.fromkeys(loaded.model.parameters())
        size = sum(p.numel() * 4 for p in weights)
        if loaded is loose:
            size -= loaded.model.get_input_embeddings().weight.numel() * 4
        assert floor["weight_bytes"] == size
        assert floor["read_ms"] > 0 and floor["gb_per_s"] > 0


def test_the_command_ends_with_one_object(tmp_path, capsys):
    loaded = tiny_model("llama", max_position_embeddings=2048)
    loaded.model.save_pretrained(tmp_path), loaded.tokenizer.save_pretrained(tmp_path)
    common = ["bench", "--model", str(tmp_path), "--device", "cpu", "--dtype", "float32"]
    assert main([*common, "--prompts", "2", "--max-new-tokens", "6", "--json"]) == 0
    out = capsys.readouterr().out.rstrip("\n").split("\n")
    result = json.loads(out[-1])
    names = [row["name"] for row in result["rows"]]
    assert names[:4] == ["greedy", "hf-greedy", "hf-prompt-lookup", "hf-early-exit"]
    assert {"full-model+exact", "recycling+exact", "recycling+exact (warm)", "lookup+exact", "auto+exact"} <= set(names)
    assert not any("fork-head" in name for name in names), "this model has no head"
    for row in result["rows"]:
        assert row["identical"] is True, row["name"]
        assert row["tokens_per_s"] > 0 and row["speedup"] > 0
    assert result["machine"]["dtype"] == "float32" and len(result["prices"]["rows"]) == len(result["prices"]["pass_ms"])
    assert any(line.startswith("| greedy") for line in out), "the table is there as well"
    assert main([*common, "--only", "nobody"]) == 2
    assert "allowed: greedy" in capsys.readouterr().err


def test_auto_is_the_fork_head_where_there_is_one_and_runs_twice_only_if_asked(engine):
    def names(*only: str) -> list[str]:
        return [c.name for c in contenders_of(engine, argparse.Namespace(k=None, m=None, only=list(only) or None))]

    assert engine.parts.head is not None
    assert "fork-head+exact" in names() and "auto+exact" not in names()
    assert names("auto+exact") == ["greedy", "auto+exact"]


def test_goals_are_met_or_not_by_the_figures():
    def row(name: str, rate: float, total: float) -> dict:
        return {"name": name, "tokens_per_s": rate, "speedup_total": total}

    rows = [row("greedy", 10, 1), row("hf-greedy", 9, 0.9), row("fork-head+exact", 17, 1.7), row("recycling+exact", 9.5, 0.95)]
    result = {"rows": rows, "rounds": {"rows": [1, 32], "ms": [1.0, 1.2]}, "weight_read": {"read_ms": 0.5}}
    assert [g["met"] for g in goals(result, on_gpu=False)] == [True, True, False, False, True]
    assert [g["met"] for g in goals(result, on_gpu=True)] == [False, False, False, False, True]
    assert goals({"rows": rows[:1]}, on_gpu=False)[0] == {
        "goal": "fork-head+exact against greedy", "wanted": 1.6, "got": None, "most": False, "met": False,
    }


def test_rounds_are_timed_by_their_rows(engine):
    times = time_rounds(Rounds(engine.runner, engine.parts.head, engine.loaded.end_tokens), repeats=1)
    assert times["rows"] == [1, 2, 4, 8, 16, 32, 64, 128] and all(ms > 0 for ms in times["ms"])


@pytest.mark.real_model
def test_a_random_model_of_a_shape_is_benched(capsys):
    assert main(["bench", "--shape", "tiny", "--prompts", "1", "--max-new-tokens", "4", "--device", "cpu", "--dtype", "float32", "--only", "fork-head+exact", "--json"]) == 0
    result = json.loads(capsys.readouterr().out.rstrip("\n").split("\n")[-1])
    assert result["model"] == "random-tiny" and [r["name"] for r in result["rows"]] == ["greedy", "fork-head+exact"]
    assert main(["bench", "--shape", "9b"]) == 2
    assert "allowed: tiny, 1.5b, 8b" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--prompts", "0"], ["--max-new-tokens", "1"], ["--repeats", "0.5"]])
def test_bad_numbers_are_refused_before_any_work(arguments, capsys):
    assert main(["bench", *arguments]) == 2
    assert "allowed" in capsys.readouterr().err


@torch.no_grad()
def test_a_profile_is_written(tmp_path, capsys):
    loaded = tiny_model("llama")
    loaded.model.save_pretrained(tmp_path / "m"), loaded.tokenizer.save_pretrained(tmp_path / "m")
    trace = tmp_path / "profile.json"
    assert main(["generate", "the hen", "--model", str(tmp_path / "m"), "--max-new-tokens", "4", "--profile", str(trace)]) == 0
    names = {event.get("name") for event in json.loads(trace.read_text())["traceEvents"]}
    assert {"propose", "verify", "select"} <= names
    assert main(["generate", "the hen", "--model", str(tmp_path / "m"), "--profile", str(tmp_path / "no" / "where.json")]) == 2
    assert "cannot write the profile" in capsys.readouterr().err
