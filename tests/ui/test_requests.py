"""Limits: each is refused before any work, with a message that says what is allowed."""

import pytest

from spork.errors import SporkError
from ui.requests import checked_request
from ui.settings import Settings

SETTINGS = Settings(max_prompt_chars=10, max_new_tokens=50)


def ask(prompt="Hi", model="a", **values):
    return checked_request(SETTINGS, ("a", "b"), prompt, model, values)


def test_a_good_request():
    request = ask(k=2, max_new_tokens=50)
    assert (request.prompt, request.model, request.config.k) == ("Hi", "a", 2)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"prompt": ""}, "the prompt is empty"),
        ({"prompt": " \n"}, "the prompt is empty"),
        ({"prompt": None}, "must be text"),
        ({"prompt": "x" * 11}, "this host allows 10"),
        ({"model": "c"}, "on offer here: a, b"),
        ({"model": ["a"]}, "on offer here: a, b"),
        ({"max_new_tokens": 51}, "at most 50"),
        ({"k": 0}, "out of range"),
        ({"k": None}, "must be a number"),
        ({"tau": float("nan")}, "must be a number"),
        ({"proposer": "<b>"}, "unknown proposer"),
    ],
)
def test_what_is_refused(change, words):
    with pytest.raises(SporkError, match=words):
        ask(**change)
