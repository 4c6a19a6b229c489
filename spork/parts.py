"""ModelParts: what a proposer or verifier may use of the model, beside the round's states."""

from __future__ import annotations

from dataclasses import dataclass

from .draft_head import DraftHead
from .lens import Lens
from .runner import ModelRunner


@dataclass
class ModelParts:
    """`lens` and `head` are None where none was fitted for this model, `draft` where no draft model was given."""

    name: str
    runner: ModelRunner
    lens: Lens | None = None
    head: DraftHead | None = None
    draft: ModelRunner | None = None
