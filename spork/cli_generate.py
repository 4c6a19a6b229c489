"""`generate`: stream the text of one run."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

from .config import KNOBS, SporkConfig, check_prompt
from .errors import ConfigError, SporkError
from .events import Round, RunFinished, RunStarted, dumps
from .profiling import profiled
from .wording import for_terminal

#: Options that are settings of the run under the same name.
SETTINGS = (*KNOBS, "proposer", "verifier", "layers", "early_score", "budget", "stop")


def generate(arguments: argparse.Namespace) -> int:
    """Check everything that needs no model first, then load, check the rest, and run."""
    config = SporkConfig.checked(
        **{name: value for name in SETTINGS if (value := getattr(arguments, name)) is not None}
    )
    prompt = _prompt_of(arguments)
    check_prompt(prompt)
    with ExitStack() as open_files:
        trace = _open_trace(arguments.trace, open_files)
        profiler = profiled(arguments.profile)
        from .baseline import PairedRun
        from .loading import load_engine

        engine = load_engine(arguments, config.proposer)
        if arguments.baseline:
            events = PairedRun(engine, prompt, config, raw=arguments.raw).events()
        else:
            events = engine.run(prompt, config, raw=arguments.raw)
        if trace:
            with suppress(OSError):  # a device or a pipe holds nothing older
                trace.truncate(0)
        started = finished = None
        shown = ""
        open_files.enter_context(profiler)
        for event in events:
            if trace:
                _write_line(trace, dumps(event))
            if isinstance(event, RunStarted):
                started = event
            elif isinstance(event, Round):
                shown += event.text
                print(for_terminal(event.text), end="", flush=True)
            else:
                finished = event
    print(for_terminal(finished.text[len(shown):]))
    if finished.reason == "error":
        print(f"spork: the run broke off: {finished.message}", file=sys.stderr)
    if arguments.json:
        print(json.dumps(summary(started, finished), ensure_ascii=False))
    else:
        print(one_line(finished), file=sys.stderr)
    return 1 if finished.reason == "error" else 0


def summary(started: RunStarted, finished: RunFinished) -> dict[str, Any]:
    """The JSON object of `generate --json`."""
    return {
        "text": finished.text,
        "token_ids": finished.token_ids,
        "prompt_tokens": finished.prompt_tokens,
        "finish_reason": finished.reason,
        "rounds": finished.rounds,
        "metrics": finished.metrics,
        "config": started.config | {"model": started.model, "device": started.device, "dtype": started.dtype},
    }


def one_line(finished: RunFinished) -> str:
    """What a run came to, in one line; a figure that does not exist is left out."""
    m = finished.metrics
    parts = [f"{len(finished.token_ids)} tokens in {finished.rounds} rounds"]
    for name, form in (("tokens_per_s", "{:.1f} tokens/s"), ("tokens_per_round", "{:.2f} tokens a round"),
                       ("acceptance_rate", "{:.0%} of rounds accepted")):
        if m.get(name) is not None:
            parts.append(form.format(m[name]))
    if m.get("speedup_paired") and m.get("speedup") is not None:
        slower = "slower: " if m["speedup"] < 1 else ""
        parts.append(f"{slower}{m['speedup']:.2f} times greedy's speed (paired)")
    if m.get("parity"):
        p = m["parity"]
        parts.append("identical to greedy" if p["identical"] else f"differs from greedy at token {p['first_difference'] + 1}")
    return ", ".join([*parts, f"ended by {finished.reason}"])


def _prompt_of(arguments: argparse.Namespace) -> str:
    if (arguments.prompt is None) == (arguments.prompt_file is None):
        raise ConfigError("give a prompt (before --stop, which takes all that follows it) or --prompt-file F, and not both")
    if arguments.prompt_file == "-" and sys.stdin is None:
        raise ConfigError("cannot read the prompt from -: standard input is closed")
    try:
        if arguments.prompt is not None:
            # Under a narrow locale Python hands over the bytes it could not read; they are UTF-8.
            return os.fsencode(arguments.prompt).decode("utf-8")
        data = sys.stdin.buffer.read() if arguments.prompt_file == "-" else Path(arguments.prompt_file).read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read the prompt from {arguments.prompt_file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"the prompt {f'in {arguments.prompt_file} ' if arguments.prompt is None else ''}is not UTF-8 text") from None


def _open_trace(path: str | None, open_files: ExitStack) -> IO[str] | None:
    """Open the trace file before any work, so that a bad path is known at once."""
    if path is None:
        return None
    try:
        # Appending leaves an older file whole if the run never starts.
        file = open(path, "a", encoding="utf-8")
        open_files.callback(_close, file)
        return file
    except OSError as error:
        raise SporkError(f"cannot write the trace to {path}: {error.strerror}") from None


def _write_line(trace: IO[str], line: str) -> None:
    try:
        trace.write(line + "\n")
        trace.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise SporkError(f"cannot write the trace: {error.strerror}") from None


def _close(file: IO[str]) -> None:
    """What could not be written was reported when it was; closing must not report it again."""
    with suppress(OSError):
        file.close()
