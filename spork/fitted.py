"""Fitted files (lenses, fork heads): where they lie, and whether they belong to a model.

The contract: a fitted file is used only with exactly the weights it was fitted on, told by their
fingerprint. The user's own comes before the one shipped with the project.
"""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path
from typing import Callable, Protocol, TypeVar

import torch

from .errors import ModelError
from .families import weights_at_hand

log = logging.getLogger(__name__)

ASSETS = Path(__file__).resolve().parent.parent / "assets"


class Fitted(Protocol):
    """What was fitted for one model; `fingerprint` is that model's."""

    fingerprint: str


F = TypeVar("F", bound=Fitted)


def fingerprint(model: torch.nn.Module) -> str:
    """A short hash of the weights a fit depends on, equal across dtypes: shape, and a few rows
    of the output embedding rounded to what bfloat16 keeps."""
    weight = model.get_output_embeddings().weight
    rows = weight[:: max(1, weight.shape[0] // 64), :16].detach().to("cpu", torch.bfloat16)
    shape = f"{tuple(weight.shape)} {model.config.get_text_config().num_hidden_layers}"
    return hashlib.sha256(shape.encode() + rows.view(torch.int16).numpy().tobytes()).hexdigest()[:16]


def fitted_places(kind: str, model_name: str) -> list[Path]:
    """Where a model's file of this kind ("lenses", "heads") is looked for, first to last."""
    from .cache import cache_root

    name = model_name.strip("/").replace("/", "--") + ".safetensors"
    return [cache_root() / kind / name, ASSETS / kind / name]


def find_fitted(kind: str, load: Callable[[Path], F], model_name: str, model: torch.nn.Module) -> F | None:
    """What was fitted for exactly these weights, or None."""
    if not weights_at_hand(model.get_output_embeddings()):
        log.warning("%s is offloaded: what was fitted for it (%s) cannot be matched to its weights", model_name, kind)
        return None
    own = fingerprint(model)
    for path in fitted_places(kind, model_name):
        if path.is_file():
            try:
                fitted = load(path)
            except ModelError as error:  # only the parts that need it suffer
                log.warning("%s", error)
                continue
            if fitted.fingerprint == own:
                return fitted
    return None
