"""The typed events a run yields, and the versioned trace format made of them.

The contract: an event is plain data. A trace file is JSON Lines, one event a line, the first
line a `run_started` that carries `schema`. A trace loads without a model and without torch; one
with a newer schema is refused with a message that says so. The page is a reducer over exactly
these objects, so live, replay and a loaded trace cannot drift apart.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Iterable, Literal

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from .config import KNOBS, shortened
from .errors import ConfigError, TraceError

SCHEMA = 1

Status = Literal["accepted", "rejected", "bonus", "fallback"]
FinishReason = Literal["eos", "length", "stop", "context", "cancelled", "error"]
Number = Annotated[float, Field(allow_inf_nan=False)]


class Reference(TypedDict):
    """A greedy rate to compare with; `paired` when it is of this very prompt."""

    tokens_per_s: Number
    paired: bool


class Parity(TypedDict):
    identical: bool
    first_difference: int | None
    logit_gap: Number | None


class Metrics(TypedDict, total=False):
    """The figures of metrics.py at the end of a run; every one of them may be null."""

    decode_s: Number
    tokens_per_s: Number | None
    speedup: Number | None
    acceptance_rate: Number | None
    token_acceptance: Number | None
    mean_jump: Number | None
    tokens_per_round: Number | None
    speedup_paired: bool | None
    greedy_tokens_per_s: Number | None
    rounds: int
    ms_per_round: dict[str, Number] | None
    break_even: Number | None
    jump_histogram: dict[str, int] | None
    acceptance_by_depth: list[Number] | None
    drafted_by_depth: list[int] | None
    longest_fallback_streak: int | None
    peak_memory_bytes: int | None
    parity: Parity | None


@dataclass
class RunStarted:
    """What is about to run, and on what.

    `reference` is the greedy rate of this engine to compare against while the run goes on:
    `{"tokens_per_s": float, "paired": bool}`, or None when none was timed. `paired` is False when
    it was timed on another prompt, as the page does when the model loads.
    """

    config: dict[str, Any]
    model: str
    device: str
    dtype: str
    versions: dict[str, str]
    machine: str
    prompt: str
    prompt_tokens: int
    reference: Reference | None = None
    schema: int = SCHEMA
    event: Literal["run_started"] = "run_started"


@dataclass
class Node:
    """One token of the round's tree. The root has id 0 and is not listed."""

    id: int
    parent: int
    depth: int
    rank: int
    token_id: int
    text: str
    draft_p: Number | None
    score: Number | None
    status: Status


@dataclass
class Fork:
    """A child of the root with its best path: node ids from first token to last, and its score."""

    nodes: list[int]
    score: Number | None


@dataclass
class Round:
    """One propose / verify / select round.

    `clock_s` is decode seconds when the round began, prefill excluded; `ms` splits the round into
    propose, verify, select and other. `chosen` is the index in `forks` of the accepted fork.
    `pieces[i]` is the text that `committed[i]` made printable (empty for a token that only begins
    a character), `statuses[i]` says how it came, and `text` is the pieces joined. `running` holds
    the figures of metrics.py as they stand after this round. `turned_down` says why speculation was
    held back, where it was.
    """

    index: int
    clock_s: Number
    k: int
    m: int
    tau: Number
    root_id: int
    root_text: str
    nodes: list[Node]
    forks: list[Fork]
    decision: Literal["accepted", "fallback"]
    chosen: int | None
    reason: str
    committed: list[int]
    pieces: list[str]
    statuses: list[Status]
    text: str
    ms: dict[str, Number]
    running: dict[str, Number | None]
    turned_down: str | None = None
    event: Literal["round"] = "round"

    @property
    def drafted(self) -> list[Node]:
        """`nodes` without the last one where it only shows the bonus or fallback token."""
        named = {node for fork in self.forks for node in fork.nodes}
        last = self.nodes[-1] if self.nodes else None
        shown = last is not None and last.status in ("bonus", "fallback") and last.draft_p is None and last.score is None
        return self.nodes[:-1] if shown and last.id not in named else self.nodes


@dataclass
class RunFinished:
    """Why the run ended and everything it measured. `text` and `token_ids` are the whole output."""

    reason: FinishReason
    text: str
    token_ids: list[int]
    prompt_tokens: int
    rounds: int
    metrics: Metrics
    message: str | None = None
    event: Literal["run_finished"] = "run_finished"


Event = Annotated[RunStarted | Round | RunFinished, Field(discriminator="event")]
_EVENT = TypeAdapter(Event)


def to_dict(event: RunStarted | Round | RunFinished) -> dict[str, Any]:
    """Plain JSON-ready data for an event."""
    return _EVENT.dump_python(event)


def from_dict(data: Any) -> RunStarted | Round | RunFinished:
    """Rebuild one event from plain data. Raises TraceError when it is not one."""
    try:
        # Through JSON, because only there does strict mode take plain data for a dataclass.
        event = _EVENT.validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "event"
        raise TraceError(f"damaged trace: {where}: {first['msg']}") from None
    if isinstance(event, RunStarted):
        _check_config(event.config)
    if isinstance(event, Round):
        _check_knobs(f"round {event.index}", {"k": event.k, "m": event.m, "tau": event.tau}, SHAPE)
        _check_round(event)
    return event


#: Whoever draws a trace makes room by these, so none may be missing.
SHAPE = ("k", "m", "tau")


def _check_knobs(where: str, values: dict[str, Any], names: Iterable[str]) -> None:
    """Refuse a knob that is missing or stands where no run can have had it."""
    for name in names:
        try:
            KNOBS[name].check(name, values.get(name))
        except ConfigError as error:
            raise TraceError(f"damaged trace: {where}: {error}") from None


def _check_config(config: dict[str, Any]) -> None:
    """Settings beside the shape may be missing, as they may be new; where they are there they are what a run can have had."""
    _check_knobs("config", config, [name for name in KNOBS if name in SHAPE or config.get(name) is not None])
    for name in ("proposer", "verifier", "early_score", "budget"):
        if not isinstance(config.get(name, ""), str):
            raise TraceError(f"damaged trace: config: {name} must be a name, got {shortened(config[name])}")


def _check_round(round_: Round) -> None:
    """Refuse a round whose parts do not fit together, so that nothing downstream has to."""
    seen = {0}
    for node in round_.nodes:
        if node.parent not in seen or node.id in seen:
            raise TraceError(f"damaged trace: round {round_.index}: node {node.id} has no parent before it")
        seen.add(node.id)
    if not {n for fork in round_.forks for n in fork.nodes} <= seen:
        raise TraceError(f"damaged trace: round {round_.index}: a fork names a node that is not there")
    if round_.chosen is not None and not 0 <= round_.chosen < len(round_.forks):
        raise TraceError(f"damaged trace: round {round_.index}: the chosen fork is not there")
    if not len(round_.committed) == len(round_.pieces) == len(round_.statuses):
        raise TraceError(f"damaged trace: round {round_.index}: committed, pieces and statuses differ in length")


def dumps(event: RunStarted | Round | RunFinished) -> str:
    """One line of a trace file, without the line end."""
    return json.dumps(to_dict(event), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def write_trace(path: str | Path, events: Iterable[RunStarted | Round | RunFinished]) -> None:
    """Write a trace file (JSON Lines, UTF-8)."""
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(dumps(event) + "\n" for event in events)


def read_trace(path: str | Path) -> list[RunStarted | Round | RunFinished]:
    """Read a trace file.

    Raises TraceError when the file cannot be read, is damaged, or has a newer schema.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise TraceError(f"cannot read trace {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise TraceError(f"damaged trace: {path} is not UTF-8 text") from None
    return parse_trace(text)


def parse_trace(text: str) -> list[RunStarted | Round | RunFinished]:
    """Read a trace from its text: one RunStarted, the rounds in order, at most one RunFinished.

    Raises TraceError as `read_trace` does. A trace that stops early (a run cut off while it was
    being written) is legal as long as every line that is there is whole.
    """
    events: list[RunStarted | Round | RunFinished] = []
    for number, line in enumerate((line for line in text.split("\n") if line.strip()), start=1):
        try:
            data = json.loads(line, parse_constant=_no_constant, parse_float=_finite)
        except (ValueError, RecursionError):
            raise TraceError(f"damaged trace: line {number} is not JSON") from None
        if number == 1:
            _check_header(data)
        event = from_dict(data)
        _check_order(events, event, number)
        events.append(event)
    if not events:
        raise TraceError("damaged trace: it is empty")
    return events


def _no_constant(name: str) -> None:
    """NaN and Infinity are Python's, not JSON's: a browser could not read them."""
    raise ValueError(name)


def _finite(text: str) -> float:
    """A literal such as 1e999 is JSON, but reads as infinity, which could not be written again."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _check_header(data: Any) -> None:
    if not isinstance(data, dict) or data.get("event") != "run_started":
        raise TraceError("not a SPORK trace: the first line is not a run_started event")
    schema = data.get("schema")
    if isinstance(schema, bool) or not isinstance(schema, int) or schema < 1:
        raise TraceError("damaged trace: the schema version is missing")
    if schema > SCHEMA:
        raise TraceError(
            f"this trace has schema {shortened(schema)}, newer than the {SCHEMA} this SPORK reads; update SPORK to open it"
        )


def _check_order(before: list[Any], event: Any, number: int) -> None:
    if isinstance(event, RunStarted) != (not before):
        raise TraceError(f"damaged trace: line {number}: a run starts in the middle")
    if before and isinstance(before[-1], RunFinished):
        raise TraceError(f"damaged trace: line {number} comes after the run finished")
    if isinstance(event, Round) and event.index != len(before) - 1:
        raise TraceError(f"damaged trace: line {number}: round {event.index} where {len(before) - 1} belongs")
