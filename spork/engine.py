"""The engine: prompt in, events out.

The contract: `run` checks everything before any work, then yields RunStarted, a Round at a time,
and RunFinished. It holds no page and no file. Time spent in the consumer between events is not on
the clock. Whatever happens, the cache is emptied at the end and nothing is left on the model.
"""

from __future__ import annotations

import platform
import threading
from contextlib import closing
from dataclasses import replace
from importlib.metadata import version
from itertools import islice
from typing import Any, Iterator, Sequence

import torch

from .config import SporkConfig, check_prompt
from .control import Control
from .decoding import Decoding
from .draft_head import DraftHead
from .draft_model import check_same_vocabulary
from .errors import ConfigError, SporkError
from .events import Round, RunFinished, RunStarted
from .fixed_rounds import FixedRounds, can_serve
from .fork_head import find_head
from .graphs import Rounds, can_play
from .lens import find_lens
from .models import LoadedModel
from .parts import ModelParts
from .prices import CONTEXT, ROWS, DraftPrice, PriceList, draft_price, measure
from .prompting import encode_prompt
from .proposers import PROPOSERS, Proposer
from .runner import ModelRunner
from .sampling import penalty_in_force
from .self_check import check_tree_attention
from .verifiers import VERIFIERS, Verifier

#: What the reference rate is timed on when a model loads: short, plain, the same for every model.
REFERENCE_PROMPT = "Tell me about the sea."
REFERENCE_TOKENS = 32
FIRST_USE_TOKENS = 4
#: Rounds each proposer drafts when it is timed.
TIMED_ROUNDS = 4


class Engine:
    """One model, ready to decode one text at a time.

    `draft` is a smaller model with the same vocabulary, for the `draft-model` proposer. Raises
    ModelError when a model cannot be run this way (see families.refuse_unsupported), or when their
    vocabularies differ.
    """

    def __init__(self, loaded: LoadedModel, draft: LoadedModel | None = None):
        self.loaded, self.draft = loaded, draft
        self.runner = ModelRunner(loaded.model)
        check_tree_attention(self.runner)
        self.parts = ModelParts(loaded.name, self.runner, find_lens(loaded.name, loaded.model), _draft_head(loaded, self.runner))
        if draft is not None:
            check_same_vocabulary(loaded, draft)
            self.parts.draft = ModelRunner(draft.model)
            check_tree_attention(self.parts.draft)
        #: Greedy rate on REFERENCE_PROMPT, or None before `warm_up`.
        self.reference: dict[str, Any] | None = None
        #: Rounds in one piece, captured as CUDA graphs; None where the device gains nothing by them.
        self.rounds = Rounds(self.runner, self.parts.head, loaded.end_tokens) if can_play(self.runner) else None
        #: What passes cost here, or None until a run needs to know.
        self.prices: PriceList | None = None
        #: What drafting costs here, by proposer; filled by `warm_up`.
        self.draft_prices: dict[str, DraftPrice] = {}
        self._busy = threading.Lock()

    def use_head(self, head: DraftHead | None) -> None:
        """Draft with this fork head from now on, in rounds of fixed shape too."""
        self.parts.head = head
        if self.rounds is not None:
            self.rounds = Rounds(self.runner, head, self.loaded.end_tokens)

    def warm_up(self) -> None:
        """Run once so that first-use costs are paid, then time greedy on a fixed prompt, passes by size, and drafting."""
        ids = self.encode(REFERENCE_PROMPT, raw=False)
        for tokens in (FIRST_USE_TOKENS, REFERENCE_TOKENS):
            greedy = replace(SporkConfig(), max_new_tokens=tokens)
            *_, finished = self.run_ids(ids, greedy, plain=True)
        rate = finished.metrics["tokens_per_s"]
        self.reference = {"tokens_per_s": rate, "paired": False} if rate else None
        self.time_passes()
        self.draft_prices = {name: price for name in PROPOSERS if (price := self._time_drafting(name, ids)) is not None}

    def time_passes(self, most_rows: int = ROWS[-1]) -> None:
        """Fill `prices`, for passes of up to `most_rows` rows."""
        self.prices = measure(self.runner, most_rows, context=min(CONTEXT, self.loaded.context_length - 1))

    def _time_drafting(self, name: str, ids: Sequence[int]) -> DraftPrice | None:
        """What this proposer's drafts cost; None where it cannot run, drafts nothing, or runs the model itself."""
        try:
            return draft_price(*(self._drafted_rounds(name, ids, m) for m in (0, SporkConfig.m)))
        except ConfigError:
            return None

    def _drafted_rounds(self, name: str, ids: Sequence[int], m: int) -> list[Round]:
        """A few rounds of this M, drafted in full."""
        config = replace(SporkConfig(), proposer=name, m=m, budget="full", max_new_tokens=REFERENCE_TOKENS)
        parts = self._parts_of_run(config)
        if parts[0].runs_model:
            return []
        with closing(self.run_parts(parts, ids, config)) as events:
            rounds = (event for event in events if isinstance(event, Round))
            return list(islice(rounds, TIMED_ROUNDS))

    def check(self, prompt: str, config: SporkConfig, *, raw: bool = False) -> None:
        """Raise SporkError for anything that would stop `run` from starting. Runs no model."""
        self._parts_of_run(config)
        self.encode(prompt, raw=raw)

    def encode(self, prompt: str, *, raw: bool) -> list[int]:
        """Token ids of a prompt. Raises ConfigError when it is empty or fills the context."""
        check_prompt(prompt)
        ids = encode_prompt(self.loaded, prompt, raw)
        limit = self.loaded.context_length
        if len(ids) >= limit:
            raise ConfigError(f"the prompt is {len(ids)} tokens; {self.loaded.name} has room for {limit - 1} at most")
        return ids

    def run(
        self, prompt: str, config: SporkConfig, *, raw: bool = False, cancel: threading.Event | None = None
    ) -> Iterator[RunStarted | Round | RunFinished]:
        """Decode a prompt. Raises SporkError at once, before the first event, for bad input.

        `cancel`, once set, ends the run after the round in progress, with reason "cancelled".
        `raw` continues the text as it stands instead of answering it as a chat message.
        """
        parts = self._parts_of_run(config)
        ids = self.encode(prompt, raw=raw)
        return self.run_parts(parts, ids, config, prompt=prompt, reference=self.reference, cancel=cancel)

    def run_ids(
        self,
        ids: Sequence[int],
        config: SporkConfig,
        *,
        plain: bool = False,
        prompt: str = "",
        reference: dict[str, Any] | None = None,
        cancel: threading.Event | None = None,
    ) -> Iterator[RunStarted | Round | RunFinished]:
        """Decode from token ids. `plain` decodes one token a pass: the engine's own greedy, or plain
        sampling at temperature > 0, in the same loop that speculation uses."""
        parts = (None, self._verifier("exact", config)) if plain else self._parts_of_run(config)
        return self.run_parts(parts, ids, config, prompt=prompt, reference=reference, cancel=cancel)

    def close(self) -> None:
        """Give back the memory of the caches."""
        self.runner.close()
        if self.parts.draft is not None:
            self.parts.draft.close()

    def _parts_of_run(self, config: SporkConfig) -> tuple[Proposer, Verifier]:
        proposer = PROPOSERS[config.proposer].made_for(config, self.parts)
        return proposer, self._verifier(config.verifier, config)

    def _verifier(self, name: str, config: SporkConfig) -> Verifier:
        return VERIFIERS[name](config, self.parts)

    def run_parts(
        self,
        parts: tuple[Proposer | None, Verifier],
        ids: Sequence[int],
        config: SporkConfig,
        *,
        prompt: str = "",
        reference: dict[str, Any] | None = None,
        cancel: threading.Event | None = None,
    ) -> Iterator[RunStarted | Round | RunFinished]:
        """Decode with a proposer (None: plain decoding) and a verifier made elsewhere."""
        if not self._busy.acquire(blocking=False):
            raise SporkError("this engine is busy with another run; wait for it to end")
        try:
            yield self._started(ids, config, prompt, reference)
            fixed = self._fixed_rounds(*parts, config)
            control = self._control(*parts, config) if fixed is None else None
            decoding = Decoding(self.loaded, self.runner, *parts, config, ids, reference, control, fixed)
            yield from decoding.events(cancel)
        finally:
            self.runner.cache.clear()
            if self.parts.draft is not None:
                self.parts.draft.cache.clear()
            self._busy.release()

    def _fixed_rounds(self, proposer: Proposer | None, verifier: Verifier, config: SporkConfig) -> FixedRounds | None:
        """Rounds of fixed shape, where this device gains by them and this run is one they can serve."""
        if self.rounds is None:
            return None
        if not can_serve(config, proposer, verifier, penalty_in_force(config, self.loaded.model)):
            return None
        return FixedRounds(self.rounds, config, proposer)

    def _control(self, proposer: Proposer | None, verifier: Verifier, config: SporkConfig) -> Control | None:
        """A controller where the text cannot depend on it; passes are timed the first time one is needed."""
        lossless = verifier.lossless and config.tau >= 1
        if proposer is None or proposer.runs_model or not lossless or config.budget == "full":
            return None
        largest = 1 + config.k * (config.m + 1)
        if self.prices is None or self.prices.rows[-1] < largest:
            self.time_passes(largest)
        return Control(self.prices, self.draft_prices.get(proposer.name), in_parts=bool(proposer.taps))

    def _started(
        self, ids: Sequence[int], config: SporkConfig, prompt: str, reference: dict[str, Any] | None
    ) -> RunStarted:
        return RunStarted(
            config=config.to_dict(),
            model=self.loaded.name,
            device=str(self.loaded.device),
            dtype=self.loaded.dtype_name,
            versions={"python": platform.python_version(), "torch": torch.__version__, "transformers": version("transformers")},
            machine=machine_name(self.loaded.device),
            prompt=prompt,
            prompt_tokens=len(ids),
            reference=reference,
        )


def _draft_head(loaded: LoadedModel, runner: ModelRunner) -> DraftHead | None:
    trained = find_head(loaded.name, loaded.model)
    return DraftHead(trained, runner) if trained is not None else None


def machine_name(device: torch.device) -> str:
    """What the figures were measured on, in words: the GPU's name, or the CPU's threads."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{torch.get_num_threads()} CPU threads, {platform.machine()}"
