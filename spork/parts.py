"""ModelParts: what a proposer or verifier may use of the model, beside the round's states."""

from __future__ import annotations

from dataclasses import dataclass

from .lens import Lens
from .runner import ModelRunner


@dataclass
class ModelParts:
    """`lens` is None where none was fitted for this model."""

    name: str
    runner: ModelRunner
    lens: Lens | None
