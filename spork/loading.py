"""An engine from a command's options."""

from __future__ import annotations

import argparse

from .engine import Engine
from .models import load_model


def load_engine(arguments: argparse.Namespace) -> Engine:
    """The model of `--model`, with that of `--draft-model` beside it where one is named. Raises ModelError."""
    loaded = load_model(arguments.model, arguments.device, arguments.dtype, quantize=arguments.quantize)
    if arguments.draft_model is None:
        return Engine(loaded)
    dtype = str(loaded.dtype).removeprefix("torch.")
    return Engine(loaded, load_model(arguments.draft_model, str(loaded.device), dtype, quantize=arguments.draft_quantize))
