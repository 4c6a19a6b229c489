"""What the host decides: address, models on offer, limits. Read once, at start.

Imports neither gradio nor torch, so `--help` and a bad option answer at once.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import sys
from dataclasses import dataclass, replace
from typing import Mapping, NoReturn, Sequence

from spork.errors import ModelError
from spork.models import check_name
from spork.quantization import QUANTIZATIONS

DEVICES = "auto, cpu, cuda, cuda:N, mps or spread"
DTYPES = ("auto", "fastest", "float32", "bfloat16", "float16")
_DEVICE = re.compile(r"auto|cpu|mps|spread|cuda(:\d+)?")


@dataclass(frozen=True)
class Settings:
    """Limits and choices of this host. The first of `models` is the one a visitor starts with.

    An empty `models` means the engine's default preset.
    """

    host: str = "127.0.0.1"
    port: int | None = None
    root_path: str = ""
    models: tuple[str, ...] = ()
    draft_model: str | None = None
    device: str = "auto"
    dtype: str = "auto"
    quantize: str = "none"
    max_prompt_chars: int = 8000
    max_new_tokens: int = 1024
    max_runs: int = 1
    max_queue: int = 16
    max_sweep_seconds: int = 300
    open: bool = False

    @property
    def first_new_tokens(self) -> int:
        """What a run asks for unless told otherwise: short, so that a first one ends while one watches."""
        return min(128, self.max_new_tokens)


class _OneLineParser(argparse.ArgumentParser):
    """Says what is wrong in one line and leaves with exit code 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"app.py: {message}\n")


def read_settings(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Settings:
    """Settings from command-line options; gradio's own variables give the address's defaults.

    Leaves the process with exit code 2 and one line when an option is bad.
    """
    parser = _parser(environment)
    options = vars(parser.parse_args(arguments))
    return replace(Settings(), **options)


def _parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    default = Settings()
    parser = _OneLineParser(
        prog="app.py",
        description="The SPORK page: self-speculative fork decoding, live.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--host", default=environment.get("GRADIO_SERVER_NAME") or default.host, help="address to listen on")
    # A default given as text goes through `type` as well, so a bad variable is reported like a bad option.
    add("--port", type=_port, default=environment.get("GRADIO_SERVER_PORT") or None,
        help="port to listen on; without it, the first free one from 7860")
    add("--root-path", default=environment.get("GRADIO_ROOT_PATH") or default.root_path,
        help="path the page is served under behind a proxy, such as /spork")
    add("--models", type=_models, default=default.models, metavar="NAME[,NAME]",
        help="models on offer: presets, Hub ids or folders; the first is the default")
    add("--draft-model", type=_model, default=default.draft_model, metavar="NAME",
        help="a smaller model with the same vocabulary, for the draft-model proposer")
    add("--device", type=_device, default=default.device, help=DEVICES)
    add("--dtype", choices=DTYPES, default=default.dtype, help="number format of the weights")
    add("--quantize", choices=QUANTIZATIONS, default=default.quantize, help="weight-only int8 needs the package torchao")
    add("--max-prompt-chars", type=_count(1), default=default.max_prompt_chars, help="longest prompt, in characters")
    add("--max-new-tokens", type=_count(1), default=default.max_new_tokens, help="most new tokens in a run")
    add("--max-runs", type=_count(1), default=default.max_runs,
        help="runs at the same time; each one holds its own copy of the model")
    add("--max-queue", type=_count(0), default=default.max_queue, help="visitors who may wait")
    add("--max-sweep-seconds", type=_count(1), default=default.max_sweep_seconds, help="longest sweep, in seconds")
    add("--open", action="store_true", help="open the page in a browser on this machine")
    return parser


def _count(low: int):
    def number(value: str) -> int:
        if not value.isdecimal() or int(value) < low:
            raise argparse.ArgumentTypeError(f"{value!r} is not a whole number of at least {low}")
        return int(value)

    return number


def _port(value: str) -> int:
    if not value.isdecimal() or not 0 < int(value) < 65536:
        raise argparse.ArgumentTypeError(f"{value!r} is not a port; allowed: 1 to 65535")
    return int(value)


def _device(value: str) -> str:
    if not _DEVICE.fullmatch(value):
        raise argparse.ArgumentTypeError(f"{value!r} is not a device; allowed: {DEVICES}")
    return value


def _models(value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    if not names:
        raise argparse.ArgumentTypeError(f"{value!r} names no model")
    return tuple(dict.fromkeys(_model(name) for name in names))


def _model(name: str) -> str:
    try:
        check_name(name)
    except ModelError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return name


def check_address(settings: Settings) -> None:
    """Leave with exit code 2 and one line when the address asked for cannot be listened on."""
    try:
        family, *_ = socket.getaddrinfo(settings.host, settings.port or 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((settings.host, settings.port or 0))
    except OSError as error:
        port = f" port {settings.port}" if settings.port else ""
        print(f"app.py: cannot listen on {settings.host}{port}: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)
