"""Traces: what is written comes back, and nothing damaged gets in."""

import json

import pytest

from spork.errors import TraceError
from spork.events import SCHEMA, RunFinished, RunStarted, dumps, parse_trace, read_trace, write_trace
from spork.engine import Engine
from tests.spork.decode import PROMPT
from tests.tiny import tiny_model
from spork.config import SporkConfig


@pytest.fixture(scope="module")
def run():
    engine = Engine(tiny_model("llama"))
    return list(engine.run(PROMPT, SporkConfig(k=3, m=2, max_new_tokens=20), raw=True))


@pytest.fixture
def lines(run):
    return [json.loads(dumps(event)) for event in run]


def text_of(lines) -> str:
    return "\n".join(json.dumps(line) for line in lines)


def test_a_trace_comes_back_equal(run, tmp_path):
    write_trace(tmp_path / "run.jsonl", run)
    assert read_trace(tmp_path / "run.jsonl") == run


def test_a_trace_that_was_cut_off_between_lines_loads(run, lines):
    assert parse_trace(text_of(lines[:-2])) == run[:-2]


def test_every_prefix_of_a_line_is_refused(run):
    whole = "\n".join(dumps(event) for event in run)
    last = whole.rindex("\n")
    for cut in range(last + 2, len(whole) - 1, 37):
        with pytest.raises(TraceError, match="damaged"):
            parse_trace(whole[:cut])


def test_a_newer_schema_is_refused_by_name(lines):
    lines[0]["schema"] = SCHEMA + 1
    with pytest.raises(TraceError, match=f"schema {SCHEMA + 1}.*newer.*update"):
        parse_trace(text_of(lines))


@pytest.mark.parametrize("damage", [
    lambda ls: ls.clear(),
    lambda ls: ls.pop(0),
    lambda ls: ls[0].pop("schema"),
    lambda ls: ls[0].update(schema="1"),
    lambda ls: ls[0].update(schema=True),
    lambda ls: ls.insert(2, ls[0]),
    lambda ls: ls.append(ls[-1]),
    lambda ls: ls.pop(1),
    lambda ls: ls[1].update(nodes="none"),
    lambda ls: ls[1].update(running={"tokens_per_s": float("nan")}),
    lambda ls: ls[1].update(index="0"),
    lambda ls: ls[1].update(pieces=[]),
    lambda ls: ls[1].update(decision="maybe"),
    lambda ls: ls[1].update(chosen=999),
    lambda ls: ls[1].update(forks=[{"nodes": [998], "score": None}]),
    lambda ls: ls[1].pop("committed"),
    lambda ls: ls[1].update(nodes=[{"id": 2, "parent": 7, "depth": 1, "rank": 0, "token_id": 1, "text": "",
                                    "draft_p": None, "score": None, "status": "rejected"}]),
    lambda ls: ls[-1].update(token_ids=None),
    lambda ls: ls[-1].update(metrics={"tokens_per_s": "abc"}),
    lambda ls: ls[-1].update(metrics={"parity": "x"}),
    lambda ls: ls[-1].update(metrics={"parity": {"identical": False}}),
    lambda ls: ls[0].update(reference={"paired": True}),
    lambda ls: ls[-1].update(event="surprise"),
    lambda ls: ls.insert(1, [1, 2]),
])
def test_damage_is_refused_in_one_line(lines, damage):
    damage(lines)
    with pytest.raises(TraceError) as caught:
        parse_trace(text_of(lines))
    assert "\n" not in str(caught.value)


def test_numbers_too_large_for_json_are_refused_wherever_they_stand(run):
    text = "\n".join(dumps(event) for event in run)
    assert '"k":3' in text
    with pytest.raises(TraceError, match="not JSON"):
        parse_trace(text.replace('"k":3', '"k":1e999'))


def test_a_byte_order_mark_is_no_damage(run, tmp_path):
    write_trace(tmp_path / "run.jsonl", run)
    path = tmp_path / "bom.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + (tmp_path / "run.jsonl").read_bytes())
    assert read_trace(path) == run


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"not json", b"[" * 100_000, b"null", b"{}"])
def test_files_that_are_no_trace(tmp_path, content):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(TraceError):
        read_trace(path)


def test_a_missing_file_and_a_folder(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(TraceError, match="cannot read"):
            read_trace(path)


def test_the_finished_event_holds_the_whole_output(run):
    finished = run[-1]
    assert isinstance(finished, RunFinished)
    assert finished.text == "".join(r.text for r in run[1:-1])
    assert finished.token_ids == [t for r in run[1:-1] for t in r.committed]


IMPOSSIBLE = [
    ("k", 10**9), ("m", 10**4), ("k", 0), ("k", "abc"), ("m", None), ("tau", 2.0),
    ("temperature", "x"), ("proposer", {"a": 1}), ("verifier", [1]), ("budget", 9),
]


@pytest.mark.parametrize("name, value", IMPOSSIBLE)
def test_settings_no_run_can_have_had_are_damage(name, value):
    """Whoever draws a trace makes room by K and M, so a huge one would hang a page."""
    config = SporkConfig().to_dict() | {name: value}
    line = dumps(RunStarted(config, "m", "cpu", "float32", {}, "here", "Hi", 1))
    with pytest.raises(TraceError, match=f"damaged trace: config: {name}"):
        parse_trace(line)
