"""Lens: reads what the model will say from the state after its first N layers.

A lens is a linear map, fitted by ridge regression, from the residual stream after layer N to the
final hidden state; the model's own lm_head then gives token probabilities. Source of the idea:
Belrose et al. 2023, "Eliciting Latent Predictions with the Tuned Lens", arXiv:2303.08112. Beside
the map, a lens file keeps for each kind of fork score the logistic calibration that turns it into
a probability in [0, 1], and the AUC it reached on held-out text.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from .errors import ModelError

FORMAT = 1


@dataclass(frozen=True)
class Calibration:
    """score = sigmoid(slope * feature + offset): how likely a fork is the model's own text.

    `auc`: chance that a fork which agrees with greedy scores above one that does not, measured on
    held-out text with `forks` forks, `agreeing` of them in agreement.
    """

    slope: float
    offset: float
    auc: float
    forks: int
    agreeing: int

    def __call__(self, feature: float) -> float:
        z = max(-60.0, min(60.0, self.slope * feature + self.offset))
        return 1 / (1 + math.exp(-z))


@dataclass
class LayerLens:
    """The lens for one N: weight [width, width], bias [width], and calibrations by score kind."""

    weight: torch.Tensor
    bias: torch.Tensor
    calibrations: dict[str, Calibration]
    top1: float
    top4: float

    def final_state(self, tapped: torch.Tensor) -> torch.Tensor:
        """Predicted final hidden states [n, width] for states after layer N [n, width]."""
        weight = self.weight.to(tapped.device, tapped.dtype)
        return torch.nn.functional.linear(tapped, weight, self.bias.to(tapped.device, tapped.dtype))


@dataclass
class Lens:
    """Lenses of one model by number of layers, and how they were made."""

    layers: dict[int, LayerLens]
    default_layers: int
    fingerprint: str
    provenance: dict[str, Any]

    def save(self, path: str | Path) -> None:
        tensors, meta = {}, {}
        for n, layer in self.layers.items():
            tensors[f"{n}.weight"] = layer.weight.to(torch.float16).contiguous()
            tensors[f"{n}.bias"] = layer.bias.to(torch.float16).contiguous()
            meta[str(n)] = {
                "calibrations": {kind: asdict(c) for kind, c in layer.calibrations.items()},
                "top1": layer.top1,
                "top4": layer.top4,
            }
        header = {
            "format": FORMAT, "layers": meta, "default_layers": self.default_layers,
            "fingerprint": self.fingerprint, "provenance": self.provenance,
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
                        weight=file.get_tensor(f"{n}.weight").float(),
                        bias=file.get_tensor(f"{n}.bias").float(),
                        calibrations={k: Calibration(**c) for k, c in meta["calibrations"].items()},
                        top1=meta["top1"],
                        top4=meta["top4"],
                    )
                    for n, meta in header["layers"].items()
                }
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, ModelError):
                raise
            raise ModelError(f"lens {path} is damaged ({error}); fit it again with fit-lens") from None
        return cls(layers, header["default_layers"], header["fingerprint"], header["provenance"])


def fingerprint(model: torch.nn.Module) -> str:
    """A short hash of the weights a lens depends on, equal across dtypes: shape, and a few rows
    of the output embedding rounded to what bfloat16 keeps."""
    weight = model.get_output_embeddings().weight
    rows = weight[:: max(1, weight.shape[0] // 64), :16].detach().to("cpu", torch.bfloat16)
    shape = f"{tuple(weight.shape)} {model.config.get_text_config().num_hidden_layers}"
    return hashlib.sha256(shape.encode() + rows.view(torch.int16).numpy().tobytes()).hexdigest()[:16]


def lens_places(model_name: str) -> list[Path]:
    """Where a model's lens is looked for: shipped with the project, then the user's own."""
    from .cache import cache_root

    safe = model_name.strip("/").replace("/", "--")
    shipped = Path(__file__).resolve().parent.parent / "assets" / "lenses"
    return [cache_root() / "lenses" / f"{safe}.safetensors", shipped / f"{safe}.safetensors"]


def find_lens(model_name: str, model: torch.nn.Module) -> Lens | None:
    """The lens fitted for exactly these weights, the user's own first, or None."""
    own = fingerprint(model)
    for path in lens_places(model_name):
        if path.is_file():
            lens = Lens.load(path)
            if lens.fingerprint == own:
                return lens
    return None
