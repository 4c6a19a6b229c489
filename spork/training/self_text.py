"""Text the model writes itself: what its lens and heads are fitted on.

A draft is judged by whether the *model* would have written it, so the model's own text is the
right text, whatever its quality.
"""

from __future__ import annotations

import random
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

import numpy as np
import torch
from transformers import StoppingCriteria, StoppingCriteriaList

from ..engine import Engine
from ..errors import ConfigError
from ..progress import Progress

TOKENS_PER_PROMPT = 192
BATCH = 64
#: A batch ends when fewer than this share of its answers still go on; what those hold is kept as it is.
STILL_GOING = 0.25


@dataclass(frozen=True)
class Written:
    """A sequence of token ids: the first `prompt` of them were given, the model wrote the rest."""

    tokens: list[int]
    prompt: int


def read_prompts(path: str | Path) -> list[str]:
    """One prompt a line, blank lines and repeats dropped. Raises ConfigError when there is none."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read prompts from {path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    prompts = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not prompts:
        raise ConfigError(f"{path} holds no prompts; write one a line")
    return prompts


def read_text(path: str | Path, vocab: int) -> list[Written]:
    """Sequences from an .npz of `tokens` (all, one after another), `lengths` and, where known, `prompt_lengths`.

    Raises ConfigError when the file is not that, or holds ids this model does not have.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            tokens, lengths = file["tokens"].astype(np.int64), file["lengths"].astype(np.int64)
            prompts = file["prompt_lengths"].astype(np.int64) if "prompt_lengths" in file else np.zeros_like(lengths)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
        raise ConfigError(f"cannot read text from {path}: it must be an .npz of tokens and lengths") from None
    if tokens.ndim != 1 or lengths.ndim != 1 or not len(lengths) or (lengths < 2).any() or lengths.sum() != len(tokens):
        raise ConfigError(f"the lengths in {path} do not add up to its tokens")
    if tokens.min() < 0 or tokens.max() >= vocab:
        raise ConfigError(f"{path} holds token ids this model does not have; it was written by another one")
    if prompts.shape != lengths.shape or (prompts < 0).any() or (prompts > lengths).any():
        raise ConfigError(f"the prompt lengths in {path} do not fit its sequences")
    parts = np.split(tokens, lengths.cumsum()[:-1])
    return [Written(part.tolist(), int(prompt)) for part, prompt in zip(parts, prompts)]


def write_text(path: str | Path, text: Sequence[Written]) -> None:
    """Write sequences so that `read_text` gives them back."""
    np.savez_compressed(
        path, tokens=np.concatenate([np.asarray(w.tokens, dtype=np.int32) for w in text]),
        lengths=np.asarray([len(w.tokens) for w in text], dtype=np.int32),
        prompt_lengths=np.asarray([w.prompt for w in text], dtype=np.int32),
    )


def without_prompts(text: Sequence[Written], prompts: Sequence[Sequence[int]]) -> list[Written]:
    """The sequences that begin with none of these prompts' token ids: what is measured on a prompt must not have met it."""
    starts = [list(prompt) for prompt in prompts if prompt]
    return [w for w in text if not any(w.tokens[: len(start)] == start for start in starts)]


def self_generated(
    engine: Engine, prompts: Sequence[str], tokens: int, seed: int, progress: Progress
) -> list[Written]:
    """Whole sequences, prompt and answer, until they hold `tokens` generated tokens.

    Goes through the prompts greedily first, then again at temperature 0.8, in batches: transformers'
    own `generate`, which writes what the engine would write, many prompts at a time.
    """
    encoded = [engine.encode(prompt, raw=False) for prompt in prompts]
    sequences: list[Written] = []
    written = lap = 0
    with torch.random.fork_rng(), engine.runner.packed:
        torch.manual_seed(seed)
        while written < tokens:
            # Prompts of like length share a batch, so that little of it is padding.
            order = sorted(range(len(encoded)), key=lambda i: (len(encoded[i]), i))
            batches = [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
            for batch in random.Random(seed + lap).sample(batches, len(batches)):
                new = _continued(engine, [encoded[i] for i in batch], 0.8 if lap else 0.0)
                sequences += new
                written += sum(len(w.tokens) - w.prompt for w in new)
                progress("writing text to fit on", min(1.0, written / tokens))
                if written >= tokens:
                    break
            lap += 1
    return sequences


@torch.inference_mode()
def _continued(engine: Engine, prompts: list[list[int]], temperature: float) -> list[Written]:
    """Each prompt with its answer, end token included where one was written."""
    loaded = engine.loaded
    longest, ends = max(map(len, prompts)), loaded.end_tokens
    pad = min(ends, default=0)
    ids = torch.tensor([[pad] * (longest - len(p)) + p for p in prompts], device=loaded.device)
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts], device=loaded.device)
    sampling = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0} if temperature else {"do_sample": False}
    room = min(TOKENS_PER_PROMPT, loaded.context_length - longest)
    output = loaded.model.generate(
        ids, attention_mask=mask, max_new_tokens=room, eos_token_id=sorted(ends) or None, pad_token_id=pad,
        stopping_criteria=StoppingCriteriaList([_MostEnded(longest, ends)]), **sampling,
    )
    answers = output[:, longest:].tolist()
    return [Written(prompt + _to_first_end(answer, ends), len(prompt)) for prompt, answer in zip(prompts, answers)]


class _MostEnded(StoppingCriteria):
    """Ends a batch when most of its answers have ended: the rest would hold it up for little text."""

    def __init__(self, prompt: int, ends: frozenset[int]):
        self._prompt, self._ends = prompt, sorted(ends)

    def __call__(self, ids: torch.Tensor, scores: torch.Tensor, **kwargs: object) -> torch.Tensor:
        ended = torch.isin(ids[:, self._prompt :], torch.tensor(self._ends, device=ids.device)).any(dim=-1)
        enough = (~ended).float().mean() < STILL_GOING
        return enough.expand(len(ids)) if enough else torch.zeros(len(ids), dtype=torch.bool, device=ids.device)


def _to_first_end(answer: list[int], ends: frozenset[int]) -> list[int]:
    at = next((i for i, token in enumerate(answer) if token in ends), len(answer))
    return answer[: at + 1]
