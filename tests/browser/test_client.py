"""The endpoint as a program sees it, through the real gradio_client."""

import time

import pytest
from gradio_client import Client

from spork.events import from_dict

from .conftest import NEW_TOKENS


@pytest.fixture(scope="module")
def client(server):
    return Client(server, verbose=False)


def test_it_takes_exactly_the_agreed_parameters(client):
    parameters = client.view_api(return_format="dict")["named_endpoints"]["/generate"]["parameters"]
    names = [p["parameter_name"] for p in parameters]
    assert names == ["prompt", "k", "m", "tau", "proposer", "verifier", "max_new_tokens", "temperature", "seed"]
    assert [p["parameter_has_default"] for p in parameters] == [False] + [True] * 8


def test_it_streams_events_and_ends_with_the_whole_text(client):
    messages = list(client.submit("Count from one to ten.", max_new_tokens=24, api_name="/generate"))
    assert {m["run"] for m in messages} == {messages[0]["run"]}
    events = [from_dict(event) for m in messages for event in m["events"]]
    assert [e.event for e in events] == ["run_started"] + ["round"] * (len(events) - 2) + ["run_finished"]
    last = messages[-1]
    assert last["text"] == events[-1].text == "".join(e.text for e in events[1:-1])
    assert last["token_ids"] == [t for e in events[1:-1] for t in e.committed]
    assert last["finish_reason"] in ("length", "eos") and last["metrics"]["tokens_per_s"] > 0
    assert not any("text" in m for m in messages[:-1])


def test_predict_gives_the_last_message(client):
    assert client.predict("Say hello.", max_new_tokens=4, api_name="/generate")["token_ids"]


@pytest.mark.parametrize(
    "bad, words",
    [
        ({"prompt": " "}, "the prompt is empty"),
        ({"prompt": "x", "k": 99}, "k is 99, out of range"),
        ({"prompt": "x", "verifier": "<b>"}, "unknown verifier '<b>'"),
        ({"prompt": "x", "max_new_tokens": NEW_TOKENS + 1}, f"at most {NEW_TOKENS}"),
        ({"prompt": "x" * 8001}, "this host allows 8000"),
    ],
)
def test_bad_input_says_what_is_wrong(client, bad, words):
    with pytest.raises(Exception, match=words):
        client.predict(**bad, api_name="/generate")


def test_cancel_frees_the_engine(client):
    job = client.submit("Write a very long story.", api_name="/generate")
    end = time.monotonic() + 60
    while not any(m["events"] for m in job.outputs()) and time.monotonic() < end:
        time.sleep(0.05)
    assert job.cancel()
    began = time.monotonic()
    assert client.predict("Hi", max_new_tokens=1, api_name="/generate")["finish_reason"] in ("length", "eos")
    assert time.monotonic() - began < 15
