"""Lens: reads what the model will say from the state after its first N layers.

A lens is a linear map, fitted by ridge regression, from the residual stream after layer N to the
final hidden state; the model's own lm_head then gives token probabilities. Source of the idea:
Belrose et al. 2023, "Eliciting Latent Predictions with the Tuned Lens", arXiv:2303.08112. A second
map also reads the previous position's *final* state, where that is known, and sees further. Beside
the maps, a lens file keeps for each kind of fork score the logistic calibration that turns it into
a probability in [0, 1], and the AUC it reached on held-out text.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Sequence

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from .errors import ModelError
from .fitted import find_fitted, recorded_fingerprints

FORMAT = 1


@dataclass(frozen=True)
class Calibration:
    """score = sigmoid(slopes . features + offset): how likely a fork is the model's own text.

    `auc`: chance that a fork which agrees with greedy scores above one that does not, measured on
    held-out text with `forks` forks, `agreeing` of them in agreement.
    """

    slopes: list[float]
    offset: float
    auc: float
    forks: int
    agreeing: int

    def __call__(self, features: Sequence[float]) -> float:
        z = self.offset + sum(s * f for s, f in zip(self.slopes, features, strict=True))
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, z))))


@dataclass
class StateMap:
    """y = weight x + bias: weight [width, inputs], bias [width]."""

    weight: torch.Tensor
    bias: torch.Tensor

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Map rows [n, inputs] to [n, width], on their device and in their dtype."""
        return torch.nn.functional.linear(x, self.weight.to(x.device, x.dtype), self.bias.to(x.device, x.dtype))


@dataclass
class LayerLens:
    """The lens for one N, and its calibrations by score kind and by proposer: what a feature means
    depends on who drafted, since a fork of the model's own greedy tokens reads well to its end.

    `plain` reads the state after layer N alone, `informed` that state and the previous position's
    final one. `top1` and `top4` say how often, on held-out text, the model's own token was the
    lens's first, or among its first four.
    """

    plain: StateMap
    informed: StateMap
    calibrations: dict[str, dict[str, Calibration]]
    top1: float
    top4: float

    def calibration(self, kind: str, proposer: str) -> Calibration:
        """The proposer's own where it was fitted, else that of recycling: a draft from outside the model."""
        by_proposer = self.calibrations[kind]
        return by_proposer.get(proposer, by_proposer["recycling"])

    def final_state(self, tapped: torch.Tensor, before: torch.Tensor | None = None) -> torch.Tensor:
        """Predicted final hidden states [n, width] for states after layer N [n, width].

        `before` [n, width] are the final states of the positions before, where they are known.
        """
        if before is None:
            return self.plain(tapped)
        return self.informed(torch.cat([tapped, before.to(tapped.dtype)], dim=-1))


@dataclass
class Lens:
    """Lenses of one model by number of layers, and how they were made."""

    layers: dict[int, LayerLens]
    default_layers: int
    fingerprints: tuple[str, ...]
    provenance: dict[str, Any]
    #: How many first layers `early-exit` drafts with: the fastest when the lens was fitted.
    draft_layers: int = 0

    def __post_init__(self) -> None:
        self.draft_layers = self.draft_layers or min(self.layers)

    def save(self, path: str | Path) -> None:
        tensors, meta = {}, {}
        for n, layer in self.layers.items():
            for name in ("plain", "informed"):
                part = getattr(layer, name)
                tensors[f"{n}.{name}.weight"] = part.weight.to(torch.float16).contiguous()
                tensors[f"{n}.{name}.bias"] = part.bias.to(torch.float16).contiguous()
            meta[str(n)] = {
                "calibrations": {
                    kind: {who: asdict(c) for who, c in by_proposer.items()}
                    for kind, by_proposer in layer.calibrations.items()
                },
                "top1": layer.top1,
                "top4": layer.top4,
            }
        header = {
            "format": FORMAT, "layers": meta, "default_layers": self.default_layers, "draft_layers": self.draft_layers,
            "fingerprints": list(self.fingerprints), "provenance": self.provenance,
        }
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        save_file(tensors, str(path), metadata={"spork_lens": json.dumps(header)})

    @classmethod
    def load(cls, path: str | Path) -> "Lens":
        """Raises ModelError when the file is damaged or newer."""
        try:
            with safe_open(str(path), framework="pt") as file:
                header = json.loads((file.metadata() or {})["spork_lens"])
                if header["format"] > FORMAT:
                    raise ModelError(f"lens {path} was written by a newer SPORK; update SPORK to use it")
                layers = {
                    int(n): LayerLens(
                        plain=_read_map(file, f"{n}.plain"),
                        informed=_read_map(file, f"{n}.informed"),
                        calibrations={
                            kind: {who: Calibration(**c) for who, c in by_proposer.items()}
                            for kind, by_proposer in meta["calibrations"].items()
                        },
                        top1=meta["top1"],
                        top4=meta["top4"],
                    )
                    for n, meta in header["layers"].items()
                }
            named = {header["default_layers"], header.get("draft_layers") or min(layers)}
            if not named <= set(layers):
                raise ValueError("it names layers that it holds no lens for")
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, ModelError):
                raise
            raise ModelError(f"lens {path} is damaged ({error}); fit it again with fit-lens") from None
        return cls(layers, header["default_layers"], recorded_fingerprints(header), header["provenance"], header.get("draft_layers", 0))


def _read_map(file: Any, name: str) -> StateMap:
    return StateMap(file.get_tensor(f"{name}.weight").float(), file.get_tensor(f"{name}.bias").float())


def find_lens(model_name: str, model: torch.nn.Module) -> Lens | None:
    """The lens fitted for exactly these weights, the user's own first, or None."""
    return find_fitted("lenses", Lens.load, model_name, model)
