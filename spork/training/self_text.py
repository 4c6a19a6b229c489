"""Text the model writes itself: what its lens and heads are fitted on.

A draft is judged by whether the *model* would have written it, so the model's own text is the
right text, whatever its quality.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Sequence

import numpy as np

from ..config import SporkConfig
from ..engine import Engine
from ..errors import ConfigError
from ..events import RunFinished
from ..progress import Progress

TOKENS_PER_PROMPT = 192


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


def read_text(path: str | Path, vocab: int) -> list[list[int]]:
    """Sequences of token ids from an .npz of `tokens` (all, one after another) and `lengths`.

    Raises ConfigError when the file is not that, or holds ids this model does not have.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            tokens, lengths = file["tokens"].astype(np.int64), file["lengths"].astype(np.int64)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
        raise ConfigError(f"cannot read text from {path}: it must be an .npz of tokens and lengths") from None
    if tokens.ndim != 1 or lengths.ndim != 1 or not len(lengths) or (lengths < 2).any() or lengths.sum() != len(tokens):
        raise ConfigError(f"the lengths in {path} do not add up to its tokens")
    if tokens.min() < 0 or tokens.max() >= vocab:
        raise ConfigError(f"{path} holds token ids this model does not have; it was written by another one")
    return [part.tolist() for part in np.split(tokens, lengths.cumsum()[:-1])]


def self_generated(
    engine: Engine, prompts: Sequence[str], tokens: int, seed: int, progress: Progress
) -> list[list[int]]:
    """Whole sequences (prompt and answer ids), until they hold `tokens` generated tokens.

    Goes through the prompts greedily first, then again at temperature 0.8 with new seeds.
    """
    sequences: list[list[int]] = []
    written = lap = 0
    while written < tokens:
        for number, prompt in enumerate(prompts):
            config = SporkConfig(
                max_new_tokens=TOKENS_PER_PROMPT, temperature=0.8 if lap else 0.0, seed=seed + 1000 * lap + number
            )
            ids = engine.encode(prompt, raw=False)
            *_, finished = engine.run_ids(ids, config)
            assert isinstance(finished, RunFinished)
            sequences.append(ids + finished.token_ids)
            written += len(finished.token_ids)
            progress("writing text to fit on", min(1.0, written / tokens))
            if written >= tokens:
                break
        lap += 1
    return sequences
