"""Fitted files (lenses, fork heads): where they lie, and whether they belong to a model.

The contract: a fitted file is used only with exactly the weights it was fitted on, told by their
fingerprint. The user's own comes before the one shipped with the project.
"""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path
from typing import Any, Callable, Mapping, Protocol, TypeVar

import torch

from .errors import ModelError
from .families import weights_at_hand

log = logging.getLogger(__name__)

ASSETS = Path(__file__).resolve().parent.parent / "assets"


class Fitted(Protocol):
    """What was fitted for one model; `fingerprints` are that model's."""

    fingerprints: tuple[str, ...]


F = TypeVar("F", bound=Fitted)


def fingerprint(model: torch.nn.Module) -> str:
    """A short hash of the weights a fit depends on, the same in float32 as in bfloat16: shape, and a few
    rows of the output embedding rounded to what bfloat16 keeps. float16 rounds otherwise: see `fingerprints`."""
    return _hash(model, _sampled_rows(model))


def fingerprints(model: torch.nn.Module) -> tuple[str, ...]:
    """The model's own, and what it is in float16, where the weights at hand are exact enough to tell."""
    rows = _sampled_rows(model)
    exact = rows.dtype == torch.float32
    return tuple(dict.fromkeys([_hash(model, rows), *([_hash(model, rows.half())] if exact else [])]))


def _sampled_rows(model: torch.nn.Module) -> torch.Tensor:
    weight = model.get_output_embeddings().weight
    return weight[:: max(1, weight.shape[0] // 64), :16].detach().cpu()


def _hash(model: torch.nn.Module, rows: torch.Tensor) -> str:
    weight = model.get_output_embeddings().weight
    shape = f"{tuple(weight.shape)} {model.config.get_text_config().num_hidden_layers}"
    return hashlib.sha256(shape.encode() + rows.to(torch.bfloat16).view(torch.int16).numpy().tobytes()).hexdigest()[:16]


def recorded_fingerprints(about: Mapping[str, Any]) -> tuple[str, ...]:
    """Those a fitted file names; files of before knew of one only. Raises KeyError where there is none."""
    return tuple(about["fingerprints"]) if "fingerprints" in about else (about["fingerprint"],)


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
            if own in fitted.fingerprints:
                return fitted
    return None
