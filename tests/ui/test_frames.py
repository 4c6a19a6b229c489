"""Frames and messages: the engine's events untouched, and safe through gradio's own diffs."""

import json
import random

import pytest
from gradio.utils import diff
from gradio_client.utils import apply_diff

from spork.errors import SporkError
from spork.events import dumps, to_dict
from ui.api import apart
from ui.frames import batch_frame, read_upload, trace_frame
from ui.live import Batch, Pace

from .fakes import finished, node, round_, started


def test_a_frame_holds_the_events_as_they_are_and_a_layout_for_each_round():
    events = [started(), round_(0), finished(1)]
    got = json.loads(batch_frame("id", Batch("running", "note", 0.5, events, Pace(3, 0.02))))
    columns = got["events"][1].pop("nodes")
    rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    assert [got["events"][0], got["events"][1] | {"nodes": rows}, got["events"][2]] == [to_dict(event) for event in events]
    assert got["layouts"][0] is None and got["layouts"][2] is None
    assert len(got["layouts"][1]) == 1 + len(round_(0).nodes)
    assert (got["run"], got["source"], got["phase"], got["note"]) == ("id", "live", "running", "note")
    assert got["duty"] == 0.02


def test_a_layout_that_repeats_is_sent_once():
    other = round_(2)
    other.nodes, other.forks, other.chosen = [], [], None
    got = json.loads(batch_frame("id", Batch("running", events=[round_(0), round_(1), other, round_(3)])))
    first, second, third, fourth = got["layouts"]
    assert second is None and len(third) == 1 and fourth == first


def test_hostile_text_stays_text():
    text = '<img src=x onerror=alert(1)>${1+1}{{value}}"\\\u2028'
    got = json.loads(batch_frame("id", Batch("running", events=[round_(0, text)])))
    assert got["events"][0]["nodes"]["text"][0] == text


def test_a_trace_becomes_one_frame():
    text = "\n".join(map(dumps, [started(), round_(0), finished(1)]))
    got = json.loads(trace_frame("id", "loaded", text))
    assert got["source"] == "loaded" and len(got["events"]) == 3


@pytest.mark.parametrize("text, words", [("", "empty"), ("{", "not JSON"), ('{"event":"run_started","schema":99}', "newer")])
def test_a_bad_trace_is_refused(text, words):
    with pytest.raises(SporkError, match=words):
        trace_frame("id", "loaded", text)


def test_an_upload_that_is_not_text_does_not_name_the_servers_folders(tmp_path):
    path = tmp_path / "secret-folder.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SporkError, match="not UTF-8") as refused:
        read_upload(path)
    assert "secret" not in str(refused.value)
    with pytest.raises(SporkError) as refused:
        read_upload(tmp_path / "gone.jsonl")
    assert "gone" not in str(refused.value)


def test_messages_survive_the_way_gradio_sends_them():
    """Gradio sends differences; lists inside lists that shrink break them (see `_apart`)."""
    dice = random.Random(1)

    def some_round(index):
        given = round_(index)
        size = dice.randrange(1, 9)
        given.nodes = [node(i, 0, 1, "x" * i, "rejected") for i in range(1, size)]
        given.forks = given.forks[: dice.randrange(3)]
        return given

    batches = [Batch("running", events=[some_round(i) for i in range(dice.randrange(4))]) for _ in range(60)]
    batches.append(Batch("running", events=[finished(3)]))
    sent = list(apart("id", iter(batches)))
    seen = sent[0]
    for before, message in zip(sent, sent[1:]):
        seen = apply_diff(seen, json.loads(json.dumps(diff(before, message))))
        assert seen == message
    assert sum(len(m["events"]) for m in sent) == sum(len(b.events) for b in batches)
    assert sent[-1]["finish_reason"] == "length" and set(sent[-1]) >= {"text", "token_ids", "metrics"}
    assert not any("text" in message for message in sent[:-1])
