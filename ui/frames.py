"""Frames: what the server sends the view, as JSON text.

A frame is `{run, source, phase, note, fraction, duty, events, layouts}`. `events` are the engine's
own, so that the page can save a trace as it came, but for one thing: a round's nodes travel by
column (`{"id": [...], "parent": [...], ...}`), which is a third of the text to write, send and
read. `layouts[i]` belongs to `events[i]` and holds [depth, lane] for the root and every node of a
round; null stands for the layout of the round before it in the frame. `source` is live, recorded
or loaded. `duty` is the share of its time the page may spend drawing. Live, replay and a loaded trace all arrive as frames.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Iterable

from spork.events import Node, Round, dumps, parse_trace, to_dict

from .layout import round_layout
from .live import Batch
from .refusal import Refusal

NODE_FIELDS = tuple(field.name for field in fields(Node))


def frame(
    run: str,
    source: str,
    events: Iterable[Any] = (),
    phase: str = "running",
    note: str = "",
    fraction: float | None = None,
    pace: Any = None,
    more: dict[str, Any] | None = None,
) -> str:
    """One frame as JSON. Each event is serialised once, here."""
    events = list(events)
    head = {
        "run": run,
        "source": source,
        "phase": phase,
        "note": note,
        "fraction": fraction,
        "duty": pace.duty if pace else None,
        "layouts": _layouts(events),
    } | (more or {})
    lines = ",".join(_by_column(event) if isinstance(event, Round) else dumps(event) for event in events)
    return f'{json.dumps(head, separators=(",", ":"))[:-1]},"events":[{lines}]}}'


def _by_column(round_: Round) -> str:
    columns = {name: [getattr(node, name) for node in round_.nodes] for name in NODE_FIELDS}
    whole = to_dict(replace(round_, nodes=[])) | {"nodes": columns}
    return json.dumps(whole, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _layouts(events: list[Any]) -> list[list[list[float] | None] | None]:
    found: list[list[list[float] | None] | None] = []
    last = None
    for event in events:
        layout = round_layout(event) if isinstance(event, Round) else None
        found.append(None if layout == last else layout)
        last = layout or last
    return found


def batch_frame(run: str, batch: Batch) -> str:
    """A live batch as a frame."""
    return frame(run, "live", batch.events, batch.phase, batch.note, batch.fraction, batch.pace)


def race_frame(run: str, batch: Batch) -> str:
    """A batch of Laps as a frame; `lanes[i]` and `turns[i]` say whose `events[i]` is."""
    laps = batch.events
    more = {"lanes": [lap.lane for lap in laps], "turns": [lap.turn for lap in laps]}
    return frame(run, "race", [lap.event for lap in laps], batch.phase, batch.note, batch.fraction, batch.pace, more)


def sweep_frame(run: str, batch: Batch) -> str:
    """A batch of a sweep: `{run, phase, note, fraction, events}`, with the sweep's own events."""
    events = [asdict(event) for event in batch.events]
    return json.dumps({"run": run, "phase": batch.phase, "note": batch.note, "fraction": batch.fraction, "events": events})


def trace_frame(run: str, source: str, text: str) -> str:
    """A whole trace as one frame. Raises TraceError."""
    return frame(run, source, parse_trace(text), phase="done")


def read_upload(path: str | Path) -> str:
    """The text of an uploaded file. Raises SporkError, without naming where the server keeps it."""
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError:
        raise Refusal("trace_unreadable") from None
    except UnicodeDecodeError:
        raise Refusal("trace_not_text") from None
