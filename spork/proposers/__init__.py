"""The proposers by name. A new one is a new file and one line here."""

from .base import Proposer
from .full_model import FullModel
from .lookup import Lookup
from .recycling import Recycling

PROPOSERS: dict[str, type[Proposer]] = {p.name: p for p in (FullModel, Recycling, Lookup)}

__all__ = ["PROPOSERS", "Proposer"]
