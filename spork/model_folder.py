"""What a saved model folder must hold before it is worth loading."""

from __future__ import annotations

import json
from pathlib import Path

_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json", "spiece.model")


def missing_part(folder: Path) -> str | None:
    """Name the first part that is missing, or None when the folder can be loaded.

    Looks at names only; a file that is damaged shows when it is loaded.
    """
    if not (folder / "config.json").is_file():
        return "config.json"
    if (lacking := _missing_weights(folder)) is not None:
        return lacking
    if not any((folder / name).is_file() for name in _TOKENIZER):
        return "a tokenizer (tokenizer.json)"
    return None


def _missing_weights(folder: Path) -> str | None:
    for name in _WEIGHTS:
        if (folder / name).is_file():
            return None
        index = folder / f"{name}.index.json"
        if index.is_file():
            try:
                shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
            except (OSError, ValueError, KeyError, AttributeError):
                return f"a readable {index.name}"
            absent = sorted(shard for shard in shards if not (folder / shard).is_file())
            return absent[0] if absent else None
    return "weights (model.safetensors)"
