"""`models`: what can be run, and how it can guess and judge."""

from __future__ import annotations

import argparse

from .errors import ModelError


def models(arguments: argparse.Namespace) -> int:
    from .models import PRESETS, fetch_model, is_cached

    if arguments.fetch is not None:
        if arguments.fetch not in PRESETS:
            raise ModelError(f"unknown preset {arguments.fetch!r}; allowed: {', '.join(PRESETS)}")
        fetch_model(arguments.fetch)
        print(f"{arguments.fetch} is ready")
        return 0
    from .proposers import PROPOSERS
    from .verifiers import VERIFIERS

    print("models (or give --model a folder or a Hub id)")
    for name, preset in PRESETS.items():
        here = "cached" if is_cached(name) else ""
        print(f"  {name:14} {preset.size:14} {here:7} {preset.summary}")
    for title, registry in (("proposers", PROPOSERS), ("verifiers", VERIFIERS)):
        print(title)
        for name, part in registry.items():
            print(f"  {name:14} {part.summary}")
    return 0
