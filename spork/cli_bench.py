"""`bench`: the paired benchmark."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from .config import KNOBS, Knob
from .errors import ConfigError

if TYPE_CHECKING:
    from .bench.contenders import Contender
    from .engine import Engine


def bench(arguments: argparse.Namespace) -> int:
    """Load, time passes, run everyone on every prompt, print the table; `--json` ends with one object."""
    count = Knob(1, 10_000, 1, "", integer=True).check("prompts", arguments.prompts) if arguments.prompts is not None else None
    tokens = Knob(2, 32768, 1, "", integer=True).check("max_new_tokens", arguments.max_new_tokens)
    repeats = Knob(1, 100, 1, "", integer=True).check("repeats", arguments.repeats)
    for name in ("k", "m"):
        if getattr(arguments, name) is not None:
            KNOBS[name].check(name, getattr(arguments, name))
    _check_names(arguments.only or [])
    from .bench import quantized
    from .bench.measure import compare, machine, read_prompts, weight_read_floor
    from .bench.goals import goals, lines
    from .bench.report import details, prices_line, table
    from .bench.round_times import time_rounds
    from .bench.shapes import random_engine
    from .engine import Engine
    from .loading import load_engine
    from .models import load_model
    from .progress import shown
    from .quiet import quiet_transformers

    engine = random_engine(arguments.shape, arguments.device, arguments.dtype) if arguments.shape else load_engine(arguments)
    with shown(None) as progress, quiet_transformers():
        progress("timing passes", None)
        engine.time_passes()
        rounds = time_rounds(engine.rounds, repeats=20) if engine.rounds is not None else None
        floor = weight_read_floor(engine)
        contenders = contenders_of(engine, arguments)
        prompts = read_prompts(count)
        rows = compare(engine, contenders, prompts, tokens, repeats, progress)
        effect = None
        if arguments.quantize != "none" and not arguments.shape:
            whole = load_model(arguments.model, str(engine.loaded.device), engine.loaded.dtype_name)
            effect = quantized.effect(engine, Engine(whole), prompts, tokens, progress)
    for row in rows:
        total = row["total_ms_per_round"]
        row["reads_per_round"] = total / floor["read_ms"] if total else None
        row["gb_per_s"] = floor["weight_bytes"] / total / 1e6 if total else None
    about = machine(engine)
    prices = {"rows": list(engine.prices.rows), "pass_ms": list(engine.prices.pass_ms)}
    print(f"{engine.loaded.name}, {about['dtype']}, {about['device']}, torch {about['torch']}, transformers {about['transformers']}")
    print(f"weights {floor['weight_bytes'] / 1e6:.0f} MB, read once in {floor['read_ms']:.1f} ms ({floor['gb_per_s']:.1f} GB/s)")
    result = {
        "machine": about, "model": engine.loaded.name, "prices": prices, "rounds": rounds, "weight_read": floor,
        "max_new_tokens": tokens, "repeats": repeats, "rows": rows, "quantization": effect,
    }
    result["goals"] = goals(result, on_gpu=engine.loaded.device.type == "cuda")
    parts = [prices_line(prices), table(rows), details(rows), lines(result["goals"])]
    if result["quantization"]:
        parts.insert(-1, quantized.line(result["quantization"], arguments.quantize))
    if rounds is not None:
        parts.insert(1, prices_line({"rows": rounds["rows"], "pass_ms": rounds["ms"]}, "a whole round in one graph, by rows"))
    print(*parts, sep="\n\n")
    if arguments.json:
        print(json.dumps(result, ensure_ascii=False))
    return 0


def contenders_of(engine: "Engine", arguments: argparse.Namespace) -> "list[Contender]":
    """Everyone asked for, or everyone this model can run, each once. The engine's greedy is always there: speed-ups are against it."""
    from .bench.contenders import plan

    knobs = {name: value for name in ("k", "m") if (value := getattr(arguments, name)) is not None}
    makers = plan()
    only = arguments.only or makers
    found = {name: make(engine, **knobs) for name, make in makers.items() if name == "greedy" or name in only}
    missing = [name for name in arguments.only or () if found[name] is None]
    if missing:
        raise ConfigError(f"{engine.loaded.name} cannot run {', '.join(missing)}: it has no such part")
    return [c for c in found.values() if c is not None and (arguments.only or c.same_as not in found)]


def _check_names(only: list[str]) -> None:
    """Refuse at once what no model could run; what this one cannot is found out when it is loaded."""
    from .bench.contenders import plan

    known = plan()
    for name in only:
        if name not in known:
            raise ConfigError(f"unknown contender {name!r}; allowed: {', '.join(known)}")
