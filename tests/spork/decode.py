"""Decoding helpers shared by the engine's tests."""

from __future__ import annotations

import itertools
from typing import Any

import torch

from spork.config import SporkConfig
from spork.engine import Engine
from spork.events import Round, RunFinished
from spork.models import LoadedModel

PROMPT = "the then there: ab ab ab the sea and the hen"


def transformers_greedy(loaded: LoadedModel, ids: list[int], count: int, **options: Any) -> list[int]:
    """What transformers' own generate writes, greedily."""
    if count == 0:
        return []
    given = torch.tensor([ids], device=loaded.device)
    ends = sorted(loaded.end_tokens) or None
    options = {"eos_token_id": ends, "pad_token_id": 0} | options
    output = loaded.model.generate(
        given, attention_mask=torch.ones_like(given), do_sample=False, max_new_tokens=count, **options
    )
    return output[0, len(ids) :].tolist()


def decode(engine: Engine, ids: list[int], **settings: Any) -> RunFinished:
    """Run to the end; returns the last event. Whole trees unless `budget` says otherwise."""
    *_, finished = engine.run_ids(ids, SporkConfig.checked(**{"budget": "full"} | settings))
    return finished


def first_rounds(engine: Engine, ids: list[int], count: int, **settings: Any) -> list[Round]:
    """The first rounds of a run that is then broken off: enough for a tree, its compaction, and what comes after."""
    run = engine.run_ids(ids, SporkConfig.checked(**{"budget": "full"} | settings))
    found = [event for event in itertools.islice(run, count + 1) if isinstance(event, Round)]
    run.close()
    return found


def rounds(engine: Engine, ids: list[int], **settings: Any) -> list[Round]:
    """The rounds of a run. Whole trees unless `budget` says otherwise."""
    config = SporkConfig.checked(**{"budget": "full"} | settings)
    return [e for e in engine.run_ids(ids, config) if isinstance(e, Round)]
