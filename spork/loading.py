"""An engine from a command's options."""

from __future__ import annotations

import argparse

from .engine import Engine
from .errors import ConfigError
from .models import check_name, load_model


def load_engine(arguments: argparse.Namespace, proposer: str | None = None) -> Engine:
    """The model of `--model`, with that of `--draft-model` beside it where one is named.

    Raises ModelError, and ConfigError where `proposer` needs a draft model and none is named; what
    needs no loading to be known is refused before it.
    """
    if arguments.draft_model is not None:
        check_name(arguments.draft_model)
    elif proposer == "draft-model":
        raise ConfigError("the proposer draft-model needs a model to draft with; name one with --draft-model")
    loaded = load_model(arguments.model, arguments.device, arguments.dtype, quantize=arguments.quantize)
    if arguments.draft_model is None:
        return Engine(loaded)
    draft = load_model(arguments.draft_model, str(loaded.device), loaded.dtype_name, quantize=arguments.draft_quantize)
    return Engine(loaded, draft)
