"""The command line as a script sees it: output, exit codes, one-line errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from spork.cli import main
from spork.events import SCHEMA, dumps, read_trace
from spork.proposers import PROPOSERS
from tests.tiny import tiny_model
from tests.ui.fakes import finished, round_, started

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    """A saved tiny model, so that loading is real and quick."""
    folder = tmp_path_factory.mktemp("model")
    loaded = tiny_model("llama")
    loaded.model.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    return str(folder)


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    try:
        code = main(arguments)
    except SystemExit as stop:
        code = stop.code
    out = capsys.readouterr()
    return code, out.out, out.err


def test_json_is_the_last_line_and_holds_the_contract(capsys, model):
    code, out, _ = run(capsys, "generate", "the hen", "--model", model, "--max-new-tokens", "24", "--json", "--k", "3")
    *text, last = out.rstrip("\n").split("\n")
    result = json.loads(last)
    assert code == 0
    assert set(result) == {"text", "token_ids", "prompt_tokens", "finish_reason", "rounds", "metrics", "config"}
    assert "\n".join(text).rstrip("\n") == result["text"].rstrip("\n")
    assert result["config"]["k"] == 3
    keys = {"tokens_per_s", "speedup", "acceptance_rate", "token_acceptance", "mean_jump", "tokens_per_round", "rounds",
            "ms_per_round", "break_even", "jump_histogram", "acceptance_by_depth", "drafted_by_depth", "peak_memory_bytes", "parity"}
    assert keys <= set(result["metrics"])
    assert result["metrics"]["speedup"] is None and result["metrics"]["parity"] is None


def test_a_baseline_gives_a_paired_speedup_and_parity(capsys, model):
    code, out, _ = run(capsys, "generate", "the hen", "--model", model, "--max-new-tokens", "20", "--json", "--baseline")
    metrics = json.loads(out.rstrip("\n").split("\n")[-1])["metrics"]
    assert code == 0
    assert metrics["speedup"] > 0 and metrics["speedup_paired"] and metrics["parity"]["identical"]


def test_a_trace_replays_to_the_same_json(capsys, model, tmp_path):
    trace = str(tmp_path / "run.jsonl")
    _, out, _ = run(capsys, "generate", "the hen", "--model", model, "--max-new-tokens", "20", "--json", "--trace", trace)
    code, replayed, _ = run(capsys, "replay", trace, "--json")
    assert code == 0
    assert replayed.rstrip("\n").split("\n")[-1] == out.rstrip("\n").split("\n")[-1]


def test_prompts_from_a_file_and_raw(capsys, model, tmp_path):
    (tmp_path / "p.txt").write_text("the hen", encoding="utf-8")
    results = []
    for arguments in (["the hen"], ["--prompt-file", str(tmp_path / "p.txt")], ["the hen", "--raw"]):
        _, out, _ = run(capsys, "generate", *arguments, "--model", model, "--max-new-tokens", "5", "--json")
        results.append(json.loads(out.rstrip("\n").split("\n")[-1]))
    assert results[0]["token_ids"] == results[1]["token_ids"]
    assert results[2]["prompt_tokens"] < results[0]["prompt_tokens"]


def test_stop_strings_may_be_several(capsys, model):
    _, out, _ = run(capsys, "generate", "the hen", "--model", model, "--max-new-tokens", "20", "--json")
    text = json.loads(out.rstrip("\n").split("\n")[-1])["text"]
    stop = text[4:6]
    _, out, _ = run(capsys, "generate", "the hen", "--model", model, "--max-new-tokens", "20", "--json", "--stop", "@@@@", stop)
    result = json.loads(out.rstrip("\n").split("\n")[-1])
    assert result["finish_reason"] == "stop"
    assert result["text"] == text[: text.index(stop)]


BAD = [
    (["generate"], "prompt"),
    (["generate", ""], "empty"),
    (["generate", "x", "--prompt-file", "y"], "not both"),
    (["generate", "--prompt-file", "/nonexistent/file"], "cannot read"),
    (["generate", "x", "--k", "0"], "allowed: whole numbers from 1 to 8"),
    (["generate", "x", "--k", "9"], "from 1 to 8"),
    (["generate", "x", "--k", "2.5"], "whole number"),
    (["generate", "x", "--k", "many"], "not a number"),
    (["generate", "x", "--m", "-1"], "from 0 to 8"),
    (["generate", "x", "--tau", "1.5"], "from 0 to 1"),
    (["generate", "x", "--tau", "nan"], "tau"),
    (["generate", "x", "--max-new-tokens", "-5"], "max_new_tokens"),
    (["generate", "x", "--temperature", "-1"], "temperature"),
    (["generate", "x", "--top-p", "0"], "top_p"),
    (["generate", "x", "--proposer", "oracle"], ", ".join(PROPOSERS)),
    (["generate", "x", "--verifier", "oracle"], "exact, early-layers, first-token"),
    (["generate", "x", "--model", "no-such-model"], "smollm2-135m"),
    (["generate", "x", "--model", "/nonexistent/folder"], "folder"),
    (["generate", "x", "--device", "abacus"], "device"),
    (["generate", "x", "--dtype", "float1"], "float32"),
    (["generate", "x", "--trace", "/nonexistent/dir/t.jsonl"], "cannot write"),
    (["generate", "x", "--stop", ""], "non-empty"),
    (["generate", "x", "--k", "9" * 400], "out of range"),
    (["generate", "x", "--seed", "9" * 400], "out of range"),
    (["generate", "x", "--layers", "9" * 400], "out of range"),
    (["generate", "x", "--layers", "10", "--verifier", "exact"], "early-layers only"),
    (["generate", "x", "--proposer", "draft-model"], "name one with --draft-model"),
    (["generate", "x", "--draft-model", "no such model"], "unknown model 'no such model'"),
    (["generate", "--stop", "x", "prompt"], "before --stop"),
    (["fit-lens", "--out", "/"], "cannot write"),
    (["replay", "/nonexistent/trace"], "cannot read"),
    (["models", "--fetch", "nope"], "allowed"),
    (["fit-lens", "--prompts", "/nonexistent"], "cannot read"),
    (["fit-lens", "--layers", "a,b"], "whole numbers"),
    (["frobnicate"], "frobnicate"),
    ([], "COMMAND"),
]


@pytest.mark.parametrize("arguments, says", BAD, ids=lambda v: " ".join(v) if isinstance(v, list) else None)
def test_bad_input_exits_with_2_and_one_line(capsys, arguments, says):
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert says in err
    assert err.startswith("spork: ") and err.count("\n") == 1


def test_a_combination_that_cannot_work_is_refused(capsys, model):
    code, _, err = run(capsys, "generate", "x", "--model", model, "--verifier", "early-layers")
    assert code == 2 and "fit-lens" in err


def test_an_over_long_prompt_is_refused(capsys, model):
    code, _, err = run(capsys, "generate", "x" * 2000, "--model", model)
    assert code == 2 and "room for 511" in err


def test_a_newer_and_a_damaged_trace_are_refused(capsys, tmp_path):
    path = tmp_path / "t.jsonl"
    for content, says in ((json.dumps({"event": "run_started", "schema": SCHEMA + 1}), "newer"), ("{", "damaged")):
        path.write_text(content)
        code, _, err = run(capsys, "replay", str(path))
        assert code == 2 and says in err


def test_a_trace_cannot_steer_the_terminal_it_is_shown_in(tmp_path):
    """Control characters are written out for a terminal, and left alone in a pipe."""
    begin, round_one, end = started(), round_(0, "\x1b]0;owned\x07"), finished(1)
    begin.prompt = round_one.reason = end.text = "\x1b[2J tab\tnewline\n\x9b31m"
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(dumps, (begin, round_one, end))), encoding="utf-8")
    command = [sys.executable, "-m", "spork", "replay", str(path)]
    ours, its = os.openpty()
    assert subprocess.run(command, cwd=ROOT, stdout=its, stderr=subprocess.PIPE).returncode == 0
    os.close(its)
    seen = b""
    with suppress(OSError):  # Linux ends a terminal's output with an error
        while piece := os.read(ours, 65536):
            seen += piece
    os.close(ours)
    assert b"\x1b" not in seen and "\x9b" not in seen.decode() and b"\\x1b[2J tab\t" in seen
    assert "\x1b[2J" in subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout


def test_a_closed_standard_input_is_said():
    done = subprocess.run(
        [sys.executable, "-m", "spork", "generate", "--prompt-file", "-"], cwd=ROOT, capture_output=True, text=True,
        preexec_fn=lambda: os.close(0),
    )  # fmt: skip
    assert done.returncode == 2 and done.stderr == "spork: cannot read the prompt from -: standard input is closed\n"


def test_an_old_trace_survives_a_run_that_never_starts(capsys, model, tmp_path):
    trace = tmp_path / "t.jsonl"
    run(capsys, "generate", "the hen", "--model", model, "--max-new-tokens", "3", "--trace", str(trace))
    before = trace.read_bytes()
    run(capsys, "generate", "x" * 2000, "--model", model, "--trace", str(trace))
    assert trace.read_bytes() == before
    run(capsys, "generate", "the hen", "--model", model, "--max-new-tokens", "2", "--trace", str(trace))
    assert read_trace(trace)[-1].rounds <= 2


def test_a_trace_that_cannot_be_written_is_reported_in_one_line(capsys, model):
    code, _, err = run(capsys, "generate", "the hen", "--model", model, "--max-new-tokens", "2", "--trace", "/dev/full")
    assert code == 2 and "cannot write the trace" in err and "Traceback" not in err


def test_fit_lens_writes_a_lens_that_generate_then_uses(capsys, model, tmp_path, monkeypatch):
    monkeypatch.setenv("SPORK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "p.txt").write_text("\n".join(f"the hen {i}" for i in range(10)))
    code, out, _ = run(
        capsys, "fit-lens", "--model", model, "--prompts", str(tmp_path / "p.txt"), "--tokens", "400", "--held-out", "4"
    )
    assert code == 0 and "AUC" in out
    code, out, _ = run(
        capsys, "generate", "the hen", "--model", model, "--verifier", "early-layers", "--tau", "0.1",
        "--max-new-tokens", "8", "--json",
    )
    assert code == 0 and json.loads(out.rstrip("\n").split("\n")[-1])["config"]["verifier"] == "early-layers"


def test_models_lists_every_name(capsys):
    code, out, _ = run(capsys, "models")
    assert code == 0
    for name in ("smollm2-135m", "full-model", "recycling", "lookup", "exact", "early-layers", "first-token"):
        assert name in out


def test_a_narrow_locale_prints_any_character(model):
    """A terminal that knows only ASCII must not end a run."""
    done = subprocess.run(
        [sys.executable, "-m", "spork", "generate", "日本", "--model", model, "--max-new-tokens", "12"],
        cwd=ROOT, capture_output=True, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "PYTHONUTF8": "0", "HOME": "/tmp"},
    )
    assert done.returncode == 0, done.stderr.decode()


def test_a_reader_that_goes_away_ends_the_run_quietly(model):
    done = subprocess.run(
        f'"{sys.executable}" -m spork generate "the hen" --model "{model}" --max-new-tokens 200 | head -c 1',
        shell=True, cwd=ROOT, capture_output=True,
    )
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("command, words", [
    (["bench", "--only", "foo"], "unknown contender 'foo'"), (["bench", "--k", "99"], "k is 99"),
    (["train-head", "--steps", "-1"], "steps must be at least 1"), (["train-head", "--rate", "nan"], "rate must lie above 0"),
    (["fit-lens", "--tokens", "-5"], "tokens must be at least 100"), (["fit-lens", "--held-out", "-5"], "too few to keep"),
])
def test_what_no_model_could_do_is_refused_before_one_is_loaded(command, words, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("spork.loading.load_engine", lambda arguments: pytest.fail("a model was loaded"))
    out = ["--out", str(tmp_path / "x.safetensors")] if command[0] != "bench" else []
    assert main([*command, *out]) == 2
    assert words in capsys.readouterr().err


def test_a_full_disk_is_said_in_one_line():
    """As a script meets it: standard output that takes nothing."""
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full on this system")
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "spork", "models"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == ["spork: No space left on device"]


def test_a_cut_recording_has_no_json_to_give_and_says_so(capsys, tmp_path):
    path = tmp_path / "cut.jsonl"
    path.write_text("\n".join(map(dumps, (started(), round_(0)))), encoding="utf-8")
    assert run(capsys, "replay", str(path))[0] == 0
    code, _, err = run(capsys, "replay", str(path), "--json")
    assert code == 1 and "before the run did" in err
