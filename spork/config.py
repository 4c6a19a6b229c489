"""SporkConfig: every knob, its range and its error message, in one place.

The page's sliders, the command line's help and the endpoint's checks all read `KNOBS`, so a
range cannot differ between them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from .errors import ConfigError


@dataclass(frozen=True)
class Knob:
    """One number a person can turn: inclusive bounds, slider step, and what it does."""

    low: float
    high: float
    step: float
    help: str
    integer: bool = False

    def check(self, name: str, value: Any) -> int | float:
        """Return `value` as int or float; raise ConfigError when it is not a number in range."""
        allowed = f"allowed: {self.span}"
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
            raise ConfigError(f"{name} must be a number, got {shortened(value)}; {allowed}")
        # Compared before anything is computed from it: an int may be too large for a float.
        if not self.low <= value <= self.high:
            raise ConfigError(f"{name} is {shortened(value)}, out of range; {allowed}")
        if self.integer and value != int(value):
            raise ConfigError(f"{name} must be a whole number, got {value}; {allowed}")
        return int(value) if self.integer else float(value)

    @property
    def span(self) -> str:
        kind = "whole numbers from" if self.integer else "from"
        high = f"{self.high:.0f}" if self.integer else f"{self.high:g}"
        return f"{kind} {self.low:g} to {high}"


KNOBS: dict[str, Knob] = {
    "k": Knob(1, 8, 1, "forks proposed in a round: children of the root", integer=True),
    "m": Knob(0, 8, 1, "tokens a fork holds after its first one", integer=True),
    "tau": Knob(0.0, 1.0, 0.05, "score a fork must reach to be accepted; 1 with exact is lossless"),
    "max_new_tokens": Knob(0, 32768, 1, "tokens to generate at most, never overshot", integer=True),
    "temperature": Knob(0.0, 5.0, 0.05, "0 is greedy; above 0 samples, losslessly with exact at tau 1"),
    "top_k": Knob(0, 1_000_000, 1, "sample from the k likeliest tokens only; 0 is off", integer=True),
    "top_p": Knob(0.01, 1.0, 0.01, "sample from the smallest set with this much probability; 1 is off"),
    "repetition_penalty": Knob(0.1, 10.0, 0.05, "above 1 makes seen tokens less likely; 1 is off"),
    "seed": Knob(0, 2**53 - 1, 1, "noise for sampling; the same seed gives the same text", integer=True),
}

#: How `early-layers` turns hidden states into a score; see verifiers/early_layers.py.
EARLY_SCORES = ("lens", "cosine", "norm")

#: How many of the K(M + 1) nodes are verified: those that pay for their rows, or all. See control.py.
BUDGETS = ("auto", "full")


@dataclass(frozen=True)
class SporkConfig:
    """How one run decodes. Immutable; `checked()` is the only way in from outside.

    `layers` is how many first layers `early-layers` uses (None: the lens's own choice).
    `repetition_penalty` None means the model's own generation config decides, as it does in
    transformers' `generate`. `budget` "auto" makes K and M upper bounds wherever the text cannot
    depend on the tree: with `exact` at tau 1, and any proposer that does not run the model itself.
    """

    k: int = 4
    m: int = 3
    tau: float = 1.0
    proposer: str = "auto"
    verifier: str = "exact"
    layers: int | None = None
    early_score: str = "lens"
    budget: str = "auto"
    max_new_tokens: int = 256
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float | None = None
    seed: int = 0
    stop: tuple[str, ...] = ()

    @classmethod
    def checked(cls, **values: Any) -> "SporkConfig":
        """Build a config from untrusted values.

        Raises ConfigError with a one-line message for an unknown name or a value out of range.
        What only a model can tell (layers, which proposers it has) is checked by the engine.
        """
        from .proposers import PROPOSERS
        from .verifiers import VERIFIERS

        known = {f.name for f in fields(cls)}
        for name in values:
            if name not in known:
                raise ConfigError(f"unknown setting {shortened(name)}; allowed: {', '.join(sorted(known))}")
        for name, knob in KNOBS.items():
            if name in values and not (name == "repetition_penalty" and values[name] is None):
                values[name] = knob.check(name, values[name])
        _check_name("proposer", values.get("proposer", cls.proposer), PROPOSERS)
        _check_name("verifier", values.get("verifier", cls.verifier), VERIFIERS)
        _check_name("early_score", values.get("early_score", cls.early_score), EARLY_SCORES)
        _check_name("budget", values.get("budget", cls.budget), BUDGETS)
        layers = values.get("layers")
        if layers is not None:
            values["layers"] = Knob(1, 10_000, 1, "", integer=True).check("layers", layers)
            if values.get("verifier", cls.verifier) != "early-layers":
                raise ConfigError("layers is read by the verifier early-layers only; choose that one, or leave layers out")
        values["stop"] = _checked_stops(values.get("stop", ()))
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"stop": list(self.stop)}


def shortened(value: Any) -> str:
    """An untrusted value as a message may show it: never long, never failing."""
    try:
        text = repr(value)
    except ValueError:  # an int of thousands of digits
        return "a very large number"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _check_name(what: str, value: Any, allowed: Any) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise ConfigError(f"unknown {what} {shortened(value)}; allowed: {', '.join(allowed)}")


def _checked_stops(stops: Any) -> tuple[str, ...]:
    if not isinstance(stops, (list, tuple)) or not all(isinstance(s, str) and s for s in stops):
        raise ConfigError("stop must be a list of non-empty strings")
    return tuple(stops)


def check_prompt(prompt: object) -> None:
    """Raise ConfigError for a prompt no model can continue: empty, or not valid text."""
    if not isinstance(prompt, str) or not prompt.strip():
        raise ConfigError("the prompt is empty; write something to continue from")
    try:
        prompt.encode("utf-8")
    except UnicodeEncodeError:
        raise ConfigError("the prompt is not valid Unicode text") from None
