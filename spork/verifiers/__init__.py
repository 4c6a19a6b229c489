"""The verifiers by name. A new one is a new file and one line here."""

from .base import Verdict, Verifier
from .early_layers import EarlyLayers
from .exact import Exact
from .first_token import FirstToken

VERIFIERS: dict[str, type[Verifier]] = {v.name: v for v in (Exact, EarlyLayers, FirstToken)}

__all__ = ["VERIFIERS", "Verdict", "Verifier"]
