"""Fixtures every test may use. Marks: real_model needs the default model, browser a Chromium."""

from __future__ import annotations

import os

# Before transformers is imported: a test that wants the Hub starts its own, on this machine.
os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch

from spork.models import DEFAULT_MODEL, LoadedModel, load_model
from tests import tiny

# Tests run side by side, one to a core; and tiny matrices are slower on many threads than on one.
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def default_model() -> LoadedModel:
    """The default preset in float32 on the CPU, fetched if need be. Fails where it cannot be had."""
    try:
        return load_model(DEFAULT_MODEL, device="cpu", dtype="float32")
    except Exception as error:
        pytest.fail(f"the default model cannot be had: {error}", pytrace=False)


@pytest.fixture(scope="session")
def tiny_model():
    """The factory `tiny_model(family, seed=0, **overrides)` of tests/tiny.py."""
    return tiny.tiny_model
