"""Contenders: everything the benchmark runs, behind one call.

The contract: `run(ids, tokens)` decodes greedily and returns the ids written and the decode time.
The clock starts when the prompt has been read and stops when the last token is known, for ours and
for transformers alike; the device is waited for at both ends.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Callable, Sequence

import torch
from transformers.generation.streamers import BaseStreamer

from ..clock import wait_for
from ..config import SporkConfig
from ..engine import Engine
from ..errors import ConfigError
from ..events import Round, RunFinished
from ..proposers import PROPOSERS, ForkHead, Proposer
from ..verifiers import VERIFIERS


@dataclass
class Run:
    """`tokens` written, of which `timed` took `seconds`. `rounds` only where we can see them."""

    tokens: list[int]
    timed: int
    seconds: float
    rounds: list[Round] = field(default_factory=list)


@dataclass(frozen=True)
class Contender:
    """`name` as the benchmark's contract has it; `note` says what a reader must know beside it.

    `same_as` names the contender that this one is on such a model, "" where it is none but itself.
    """

    name: str
    run: Callable[[Sequence[int], int], Run]
    note: str = ""
    same_as: str = ""


def plan() -> dict[str, Callable[..., Contender | None]]:
    """Everyone there is, by name: `make(engine, **knobs)`, None where a model has no such part. Greedy is first."""
    makers: dict[str, Callable[..., Contender | None]] = {
        "greedy": lambda engine, **_: engine_greedy(engine),
        "hf-greedy": lambda engine, **_: hf_generate(engine, "hf-greedy"),
        "hf-prompt-lookup": lambda engine, **_: hf_generate(
            engine, "hf-prompt-lookup", "prompt_lookup_num_tokens 10", prompt_lookup_num_tokens=10
        ),
        "hf-early-exit": lambda engine, **_: _hf_early_exit(engine),
        "hf-draft-model": lambda engine, **_: _hf_draft_model(engine),
    }
    for proposer in PROPOSERS:
        makers[f"{proposer}+exact"] = partial(_spork_where_it_can, proposer)
        if proposer == "recycling":
            makers["recycling+exact (warm)"] = warm_recycling
        if proposer == "fork-head":
            makers["fork-head+exact (alone)"] = lone_head
    return makers


def _spork_where_it_can(proposer: str, engine: Engine, **knobs: Any) -> Contender | None:
    try:
        made = PROPOSERS[proposer].made_for(SporkConfig(proposer=proposer), engine.parts)
    except ConfigError:
        return None
    contender = spork(engine, proposer, "exact", **knobs)
    return replace(contender, same_as=f"{made.name}+exact") if made.name != proposer else contender


def _hf_early_exit(engine: Engine) -> Contender:
    layers = max(1, len(engine.runner.layers) // 3)
    return hf_generate(engine, "hf-early-exit", f"assistant_early_exit {layers}", assistant_early_exit=layers)


def _hf_draft_model(engine: Engine) -> Contender | None:
    draft = engine.draft
    return hf_generate(engine, "hf-draft-model", draft.name, assistant_model=draft.model) if draft is not None else None


def engine_greedy(engine: Engine) -> Contender:
    return Contender("greedy", lambda ids, tokens: _collect(engine.run_ids(ids, _budget(SporkConfig(), tokens), plain=True)))


def spork(engine: Engine, proposer: str, verifier: str, **knobs: Any) -> Contender:
    """PROPOSER+VERIFIER, every run on its own: a table or automaton starts empty."""
    config = SporkConfig.checked(proposer=proposer, verifier=verifier, **knobs)
    return Contender(
        f"{proposer}+{verifier}", lambda ids, tokens: _collect(engine.run_ids(ids, _budget(config, tokens))),
        f"k {config.k}, m {config.m}, tau {config.tau:g}",
    )


def warm_recycling(engine: Engine, **knobs: Any) -> Contender:
    """Recycling whose table is kept from prompt to prompt, as its authors measure it."""
    config = SporkConfig.checked(proposer="recycling", verifier="exact", **knobs)
    kept: list[Proposer] = []

    def run(ids: Sequence[int], tokens: int) -> Run:
        kept[:] = kept or [PROPOSERS["recycling"](config, engine.parts)]
        parts = kept[0], VERIFIERS["exact"](config, engine.parts)
        return _collect(engine.run_parts(parts, ids, _budget(config, tokens)))

    return Contender("recycling+exact (warm)", run, "its table kept from prompt to prompt")


def lone_head(engine: Engine, **knobs: Any) -> Contender | None:
    """The fork head without the text's own repetitions: what each of the two is worth."""
    if engine.parts.head is None:
        return None
    config = SporkConfig.checked(proposer="fork-head", verifier="exact", **knobs)

    def run(ids: Sequence[int], tokens: int) -> Run:
        parts = ForkHead(config, engine.parts, alone=True), VERIFIERS["exact"](config, engine.parts)
        return _collect(engine.run_parts(parts, ids, _budget(config, tokens)))

    return Contender("fork-head+exact (alone)", run, "the head's own guesses only")


def hf_generate(engine: Engine, name: str, note: str = "", **options: Any) -> Contender:
    """transformers' own `generate`, greedy, with `options`."""
    return Contender(name, lambda ids, tokens: _generate(engine, ids, tokens, options), note)


def _budget(config: SporkConfig, tokens: int) -> SporkConfig:
    return replace(config, max_new_tokens=tokens)


def _collect(events: Any) -> Run:
    rounds: list[Round] = []
    for event in events:
        if isinstance(event, Round):
            rounds.append(event)
        finished = event
    assert isinstance(finished, RunFinished)
    return Run(finished.token_ids, len(finished.token_ids), finished.metrics["decode_s"], rounds)


class _FirstToken(BaseStreamer):
    """Notes when transformers has read the prompt, which is when its first token arrives."""

    def __init__(self) -> None:
        self.at: float | None = None
        self.tokens = 0
        self._saw_prompt = False

    def put(self, value: torch.Tensor) -> None:
        if not self._saw_prompt:
            self._saw_prompt = True
        elif self.at is None:
            self.at, self.tokens = time.perf_counter(), value.numel()

    def end(self) -> None:
        pass


@torch.inference_mode()
def _generate(engine: Engine, ids: Sequence[int], tokens: int, options: dict[str, Any]) -> Run:
    model, device = engine.loaded.model, engine.loaded.device
    prompt = torch.tensor([list(ids)], device=device)
    first, layers = _FirstToken(), model.config.num_hidden_layers
    ends = sorted(engine.loaded.end_tokens)
    try:
        output = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=tokens,
            eos_token_id=ends or None, pad_token_id=ends[0] if ends else 0, streamer=first, **options,
        )
    finally:
        model.config.num_hidden_layers = layers  # assistant_early_exit leaves it changed when it fails
    wait_for(device)
    end = time.perf_counter()
    written = output[0, len(ids) :].tolist()
    return Run(written, len(written) - first.tokens, end - (first.at or end))
