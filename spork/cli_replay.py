"""`replay`: show a recorded trace, round by round, without a model."""

from __future__ import annotations

import argparse
import json
import sys

from .cli_generate import one_line, summary
from .events import Round, RunFinished, read_trace
from .wording import for_terminal

MARKS = {"accepted": "●", "bonus": "▲", "fallback": "◆"}


def replay(arguments: argparse.Namespace) -> int:
    started, *rest = read_trace(arguments.file)
    config = started.config
    what = f"{started.model} on {started.machine}, {started.dtype}: {config.get('proposer')} + {config.get('verifier')}"
    print(for_terminal(f"{what}\n> {started.prompt}\n"))
    finished = None
    for event in rest:
        if isinstance(event, Round):
            tokens = " ".join(f"{MARKS.get(s, '?')}{p!r}" for s, p in zip(event.statuses, event.pieces))
            print(f"{event.index:4d}  {event.clock_s:7.2f}s  {tokens}\n{'':16}{for_terminal(event.reason)}")
            if event.turned_down:
                print(f"{'':16}{for_terminal(event.turned_down)}")
        else:
            finished = event
    if isinstance(finished, RunFinished):
        print(f"\n{for_terminal(finished.text)}\n\n{for_terminal(one_line(finished))}")
        if arguments.json:
            print(json.dumps(summary(started, finished), ensure_ascii=False))
    else:
        print("\nthe recording ends before the run did")
        if arguments.json:
            print("spork: no JSON object: the recording ends before the run did", file=sys.stderr)
            return 1
    return 0
