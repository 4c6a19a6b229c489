"""The proposers by name. A new one is a new file and one line here."""

from .auto import Auto
from .base import Proposer
from .draft_model import DraftModel
from .early_exit import EarlyExit
from .fork_head import ForkHead
from .full_model import FullModel
from .lookup import Lookup
from .recycling import Recycling

PROPOSERS: dict[str, type[Proposer]] = {
    p.name: p for p in (FullModel, EarlyExit, ForkHead, Recycling, Lookup, DraftModel, Auto)
}

__all__ = ["PROPOSERS", "ForkHead", "Proposer"]
