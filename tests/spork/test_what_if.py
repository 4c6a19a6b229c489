"""Another tau on a recorded run: the decision of a real run at that tau, up to the first flip."""

from __future__ import annotations

import pytest

from spork.config import SporkConfig
from spork.engine import Engine
from spork.errors import TraceError
from spork.events import Round, read_trace
from spork.what_if import decisions
from tests.spork.decode import PROMPT
from tests.tiny import tiny_model
from ui.components import ASSETS


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(tiny_model("llama"))


def run(engine, tau, **more):
    settings = {"k": 4, "m": 2, "proposer": "recycling", "verifier": "exact", "max_new_tokens": 40, "budget": "full"} | more
    return list(engine.run(PROMPT, SporkConfig.checked(tau=tau, **settings), raw=True))


def at(steps, tau):
    return next(step for step in steps if tau <= step.upto)


@pytest.mark.parametrize("more", [{}, {"verifier": "first-token", "proposer": "full-model"}, {"proposer": "full-model"}])
@pytest.mark.parametrize("recorded_at", [1.0, 0.6])
def test_it_is_what_a_real_run_decides_up_to_the_first_flip(engine, recorded_at, more):
    trace = run(engine, recorded_at, **more)
    judged = decisions(trace)
    recorded = [event for event in trace if isinstance(event, Round)]
    flips = 0
    best = [max(fork.score for fork in r.forks) for r in recorded if r.forks]
    for tau in (0.0, *sorted(best)[:: max(1, len(best) // 5)], 1.0):
        real = [event for event in run(engine, tau, **more) if isinstance(event, Round)]
        for steps, old, new in zip(judged, recorded, real):
            step = at(steps, tau)
            assert step.decision == new.decision
            if len(new.committed) == step.tokens or new is not real[-1]:
                assert (step.tokens, step.fork) == (len(new.committed), new.chosen)
                assert step.path == [node.id for node in new.nodes if node.status == "accepted"]
            same = new.committed == old.committed
            assert step.same == same or old is recorded[-1] or new is real[-1]
            if not step.same:
                flips += 1
                break
    assert flips or more.get("verifier") != "first-token"


def test_the_recorded_tau_flips_nothing(engine):
    for tau in (0.4, 1.0):
        assert all(at(steps, tau).same for steps in decisions(run(engine, tau)))


def test_shipped_traces_can_be_judged():
    for path in (ASSETS / "traces").rglob("*.jsonl"):
        trace = read_trace(path)
        tau = trace[0].config["tau"]
        assert all(at(steps, tau).same for steps in decisions(trace)), path


def test_steps_cover_every_tau_once(engine):
    for steps in decisions(run(engine, 0.7)):
        bounds = [step.upto for step in steps]
        assert bounds == sorted(set(bounds)) and bounds[-1] == 1.0


def test_a_sampled_run_is_refused(engine):
    with pytest.raises(TraceError, match="greedy"):
        decisions(run(engine, 1.0, temperature=1.0))


def test_rounds_no_engine_made_are_refused(engine):
    trace = run(engine, 1.0)
    round_ = next(event for event in trace if isinstance(event, Round) and len(event.forks) > 1)
    round_.forks.pop()
    with pytest.raises(TraceError, match="cannot be judged"):
        decisions(trace)
