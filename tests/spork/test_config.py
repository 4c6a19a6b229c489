import math

import pytest

from spork.config import KNOBS, SporkConfig, check_prompt
from spork.errors import ConfigError
from spork.proposers import PROPOSERS


def test_defaults_pass_their_own_checks():
    assert SporkConfig.checked() == SporkConfig()


@pytest.mark.parametrize("name", KNOBS)
def test_every_knob_takes_its_bounds_and_refuses_what_lies_outside(name):
    knob = KNOBS[name]
    for value in (knob.low, knob.high):
        assert getattr(SporkConfig.checked(**{name: value}), name) == value
    for value in (knob.low - 1, knob.high + 1, math.nan, math.inf, -math.inf, 10**400, 10**9000, "3", True, None if name != "repetition_penalty" else "x", [1]):
        with pytest.raises(ConfigError) as caught:
            SporkConfig.checked(**{name: value})
        assert name in str(caught.value) and "allowed" in str(caught.value) and "\n" not in str(caught.value)


def test_whole_numbers_may_come_as_floats_and_nothing_else():
    assert SporkConfig.checked(k=3.0).k == 3
    with pytest.raises(ConfigError, match="whole number"):
        SporkConfig.checked(k=3.5)


@pytest.mark.parametrize("values, says", [
    ({"proposer": "oracle"}, ", ".join(PROPOSERS)),
    ({"verifier": "coin"}, "exact, early-layers, first-token"),
    ({"proposer": ["recycling"]}, "allowed"),
    ({"early_score": "vibes"}, "lens, cosine, norm"),
    ({"layers": 0}, "layers"),
    ({"speed": 9}, "unknown setting"),
    ({"stop": [""]}, "non-empty"),
    ({"stop": "abc"}, "list"),
    ({"stop": [3]}, "list"),
    ({"stop": None}, "list"),
])
def test_unknown_names_say_what_is_allowed(values, says):
    with pytest.raises(ConfigError, match=says):
        SporkConfig.checked(**values)


@pytest.mark.parametrize("prompt", ["", "   \n", None, 7, "\ud800"])
def test_prompts_no_model_can_continue(prompt):
    with pytest.raises(ConfigError):
        check_prompt(prompt)
