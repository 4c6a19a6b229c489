"""ForkHead: a small trained head that drafts forks from the model's last hidden state.

A recurrent MLP speculator, one step a drafted token, no attention and no cache. Source of the
kind: Wertheimer et al. 2024, "Accelerating Production LLMs with Combined Token/Embedding
Speculators", arXiv:2404.19124. It reads the final hidden state h[t] (the input of lm_head) and
the token that came after it, and writes a state that the model's own lm_head turns into logits
over the most frequent part of the vocabulary (as FR-Spec, arXiv:2502.14856, does).

    state = start(h[t])                       knows the text up to position t
    state = step(state, E(x[t+1]))            read(state) predicts token t+2
    state = step(state, E(x[t+2]))            read(state) predicts token t+3, and so on
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn.functional import silu

from .errors import ModelError
from .fitted import find_fitted, recorded_fingerprints

FORMAT = 1
VOCAB_KEY = "draft_vocab"


class ForkHead(nn.Module):
    """The head's network. `width` is the model's hidden width, `state_width` its own."""

    def __init__(self, width: int, state_width: int):
        super().__init__()
        self.enter = nn.Linear(width, state_width)
        self.mix = nn.Linear(state_width + width, 2 * state_width)
        self.write = nn.Linear(state_width, state_width)
        self.leave = nn.Linear(state_width, width)
        self.state_norm = nn.RMSNorm(state_width)
        self.token_norm = nn.RMSNorm(width)
        self.out_norm = nn.RMSNorm(width)

    def start(self, final: torch.Tensor) -> torch.Tensor:
        """States [n, state_width] from final hidden states [n, width]."""
        return self.enter(final)

    def step(self, state: torch.Tensor, embedded: torch.Tensor) -> torch.Tensor:
        """States [n, state_width] one token further; `embedded` [n, width] is its input embedding."""
        value, gate = self.mix(torch.cat([self.state_norm(state), self.token_norm(embedded)], dim=-1)).chunk(2, dim=-1)
        return state + self.write(silu(value) * gate)

    def read(self, state: torch.Tensor) -> torch.Tensor:
        """What stands in for the final hidden state [n, width]: the input of the model's lm_head."""
        return self.out_norm(self.leave(self.state_norm(state)))

    @property
    def width(self) -> int:
        return self.enter.in_features

    @property
    def state_width(self) -> int:
        return self.enter.out_features


@dataclass
class TrainedHead:
    """A head, the token ids it may draft (most frequent first), whose it is and how it was made.

    `agreement` maps how many candidates ("top1", "top4") to the share of held-out positions where
    the model's own next token was among them.
    """

    network: ForkHead
    draft_vocab: torch.Tensor
    fingerprints: tuple[str, ...]
    agreement: dict[str, float] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)

    def save(self, path: str | Path, dtype: torch.dtype = torch.bfloat16) -> None:
        """Write PATH (safetensors) and, beside it, a JSON that says what it is and how it was made."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        tensors = {k: v.detach().to("cpu", dtype).contiguous() for k, v in self.network.state_dict().items()}
        tensors[VOCAB_KEY] = self.draft_vocab.to("cpu", torch.int32).contiguous()
        save_file(tensors, str(path))
        about = {
            "format": FORMAT, "width": self.network.width, "state_width": self.network.state_width,
            "draft_tokens": len(self.draft_vocab), "parameters": sum(p.numel() for p in self.network.parameters()),
            "fingerprints": list(self.fingerprints), "agreement": self.agreement, "provenance": self.provenance,
        }
        path.with_suffix(".json").write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "TrainedHead":
        """Raises ModelError when one of the two files is missing, damaged or newer."""
        path = Path(path)
        try:
            about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
            if about["format"] > FORMAT:
                raise ModelError(f"fork head {path} was written by a newer SPORK; update SPORK to use it")
            tensors = load_file(str(path))
            vocab = tensors.pop(VOCAB_KEY).long()
            network = ForkHead(about["width"], about["state_width"])
            network.load_state_dict(tensors)
            return cls(
                network.float().eval().requires_grad_(False), vocab,
                recorded_fingerprints(about), about["agreement"], about["provenance"],
            )
        except ModelError:
            raise
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise ModelError(f"fork head {path} is damaged ({reason}); make it again with train-head") from None


def find_head(model_name: str, model: nn.Module) -> TrainedHead | None:
    """The head trained for exactly these weights, the user's own first, or None."""
    return find_fitted("heads", TrainedHead.load, model_name, model)
