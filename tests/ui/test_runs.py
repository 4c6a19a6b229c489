"""What a visitor may ask for beyond a run: sweeps within limits, links, and their language."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from spork.config import SporkConfig
from spork.errors import SporkError
from spork.events import dumps, parse_trace
from spork.parts import ModelParts
from spork.proposers import PROPOSERS
from spork.sweep import Sweep
from spork.verifiers import VERIFIERS
from ui.desk import ModelDesk
from ui.endpoints import what_if
from ui.page import build_page
from ui.refusal import Refusal, said
from ui.runs import Runs
from ui.settings import Settings
from ui.visitor import language_of
from ui.words import LANGUAGES, engine_line, message

from .fakes import FakeEngine, finished, round_, started

FORM = {"prompts": ["Hi", ""], "ks": [1, 2], "ms": [0], "taus": [1], "new_tokens": 8, "seconds": 20}


@pytest.fixture
def runs() -> Runs:
    settings = Settings(max_sweep_seconds=30, max_prompt_chars=100)
    return Runs(settings, ModelDesk(settings, ("a",), load=lambda *_: FakeEngine()))


def asked(runs, **change):
    return runs._sweep(FORM | change, "a", {"k": 4, "m": 3})


def test_a_sweep_takes_every_prompt_that_is_not_blank(runs):
    job = asked(runs, prompts=["Hi", "  ", "Ho"])
    assert [request.prompt for request in job.requests] == ["Hi", "Ho"]
    assert (job.ks, job.ms, job.taus, job.seconds, job.model) == ((1, 2), (0,), (1.0,), 20.0, "a")
    assert {request.config.max_new_tokens for request in job.requests} == {8}


@pytest.mark.parametrize("change, words", [
    ({"seconds": 31}, "up to 30 s"), ({"seconds": 0}, "up to 30 s"), ({"seconds": "1"}, "not as the page makes it"),
    ({"seconds": float("nan")}, "not as the page"), ({"new_tokens": 0}, "allowed: 1 to 64"), ({"new_tokens": 65}, "1 to 64"),
    ({"new_tokens": 1.5}, "whole number"), ({"prompts": []}, "empty"), ({"prompts": [" "]}, "empty"), ({"prompts": "Hi"}, "not as the page"),
    ({"prompts": [3]}, "must be text"), ({"prompts": ["x" * 101]}, "this host allows 100"), ({"ks": [True]}, "not as the page"),
    ({"ks": None}, "not as the page"), ({"ks": list(range(65))}, "not as the page"), ({"taus": [{}]}, "not as the page"),
])
def test_a_form_the_page_would_not_make_is_refused(runs, change, words):
    with pytest.raises(SporkError, match=words):
        asked(runs, **change)
    assert len(runs.table) == 0


@pytest.mark.parametrize("form", [None, [], "x", 3])
def test_what_is_no_form_is_refused(runs, form):
    with pytest.raises(SporkError, match="not as the page"):
        list(runs.sweep("id", form, "a"))


def test_another_tau_on_a_bad_trace_is_an_answer_not_an_error():
    trace = "\n".join(map(dumps, [started(), round_(0), finished(1)]))
    assert [step["same"] for step in what_if(trace)["rounds"][0]][-1] is True
    assert "not JSON" in what_if("{")["error"]
    assert "empty" in what_if("")["error"]


@pytest.mark.parametrize("cookie, header, expected", [
    (None, "zh-CN,zh;q=0.9", "zh"), ("en", "zh-CN", "en"), ("zh", "en-GB", "zh"), (None, "de", "en"), (None, None, "en"), ("<x>", "zh", "en"),
])
def test_the_language_is_the_visitors_choice_then_the_browsers(cookie, header, expected):
    cookies = {"spork_language": cookie} if cookie else {}
    assert language_of(SimpleNamespace(cookies=cookies, headers={"accept-language": header} if header else {})) == expected


def test_the_pages_own_errors_are_said_in_the_visitors_language():
    error = Refusal("many_tokens", value=9, limit=5)
    assert "at most 5" in str(error) and "9" in said(error, "zh") and said(error, "zh") != str(error)
    assert said(SporkError("of the engine"), "zh") == "of the engine"


@pytest.mark.parametrize("act", [
    lambda: SporkConfig.checked(k=99), lambda: SporkConfig.checked(k="x"), lambda: SporkConfig.checked(seed=1.5),
    lambda: SporkConfig.checked(tau=-1), lambda: SporkConfig.checked(proposer="x"),
    lambda: parse_trace(""), lambda: parse_trace("{"), lambda: parse_trace("{}"),
    lambda: parse_trace(dumps(started()).replace('"schema":1', '"schema":99')),
    lambda: Sweep(FakeEngine(), ["x"], [], [1], [1.0], SporkConfig()),
    lambda: Sweep(FakeEngine(), ["x"], range(1, 9), range(9), [1.0, 0.5], SporkConfig()),
    lambda: PROPOSERS["fork-head"](SporkConfig(), ModelParts("m", None)), lambda: PROPOSERS["early-exit"](SporkConfig(), ModelParts("m", None)),
    lambda: PROPOSERS["draft-model"](SporkConfig(), ModelParts("m", None)), lambda: VERIFIERS["early-layers"](SporkConfig(), ModelParts("m", None)),
])  # fmt: skip
def test_what_the_engine_refuses_is_said_in_chinese(act):
    with pytest.raises(SporkError) as caught:
        act()
    words = said(caught.value, "zh")
    assert re.search("[\u4e00-\u9fff]", words) and not re.search(r"allowed|numbers from|choose|damaged", words), words
    assert said(caught.value, "en") == str(caught.value)


def test_what_the_desk_says_of_a_load_is_said_in_chinese_too():
    for key, values in (("loading_model", {}), ("warming_up", {}), ("load_failed", {"name": "a/b", "error": "OSError"})):
        assert engine_line(message(key, **values), "zh") == message(key, "zh", **values) != message(key, **values)


def test_the_languages_are_two():
    assert set(LANGUAGES) == {"en", "zh"}


def test_a_link_may_set_what_the_controls_hold():
    desk = ModelDesk(Settings(), ("a",), load=lambda *_: FakeEngine())
    page = build_page(Settings(max_new_tokens=50, max_prompt_chars=70), desk)
    masthead = next(block for block in page.blocks.values() if getattr(block, "elem_id", "") == "spork-masthead")
    import json
    import re

    facts = json.loads(re.search(r"const FACTS = (.*);\n", masthead.js_on_load)[1])["controls"]
    assert list(facts)[:3] == ["prompt", "model", "k"]
    assert facts["prompt"] == {"length": 70} and facts["max_new_tokens"] == {"low": 1, "high": 50, "whole": True}
    assert facts["tau"] == {"low": 0, "high": 1, "whole": False} and "exact" in facts["verifier"]["choices"]
