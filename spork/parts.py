"""ModelParts: what a proposer or verifier may use of the model, beside the round's states."""

from __future__ import annotations

from dataclasses import dataclass, field

from .draft_head import DraftHead
from .draft_lens import DraftLens
from .draft_vocabulary import DraftVocabulary
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
    #: The lens made ready, after what it was made from.
    _ready: tuple[Lens, DraftVocabulary | None, DraftLens] | None = field(default=None, repr=False)

    def draft_lens(self) -> DraftLens | None:
        """The lens made ready to draft, over the tokens that the head drafts where there is one, else over all."""
        if self.lens is None:
            return None
        vocabulary = self.head.vocabulary if self.head is not None else None
        if self._ready is None or self._ready[0] is not self.lens or self._ready[1] is not vocabulary:
            ready = DraftLens(self.lens, self.runner, vocabulary or DraftVocabulary(self.runner))
            self._ready = self.lens, vocabulary, ready
        return self._ready[2]
