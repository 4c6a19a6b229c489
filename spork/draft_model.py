"""Whether two models share a vocabulary, so that one can draft for the other."""

from __future__ import annotations

from .errors import ModelError
from .models import LoadedModel


def check_same_vocabulary(loaded: LoadedModel, draft: LoadedModel) -> None:
    """Raise ModelError unless every token has the same id in both, and the same tokens end a text.

    Names are not trusted: the maps themselves are compared. Rows of logits may be padded to
    different widths; that is no difference.
    """
    if loaded.tokenizer is draft.tokenizer:
        return
    ours, theirs = loaded.tokenizer.get_vocab(), draft.tokenizer.get_vocab()
    if ours != theirs:
        token, _ = min(set(ours.items()) ^ set(theirs.items()), key=lambda pair: (pair[1], pair[0]))
        raise ModelError(
            f"{draft.name} has another vocabulary than {loaded.name} (token {token!r} is {ours.get(token, 'missing')} "
            f"in one and {theirs.get(token, 'missing')} in the other); use a draft model of the same family"
        )
