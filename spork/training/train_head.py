"""train-head: a fork head for any supported model, from text the model wrote itself.

At each position t the head starts from the model's final state h[t], is fed the tokens that
followed, and after each is asked for the model's own next token: cross-entropy over UNROLL steps,
later steps counting less. The target is the model's own distribution at that position, sharpened
and by its likeliest TARGETS tokens, not the text: its argmax is what exact verification will
compare with, and the rest tells the head what else to hold ready (distillation, as Zhou et al.
2023, arXiv:2310.08461, do for draft models). Source of the recipe: Wertheimer et al. 2024, arXiv:2404.19124. Part of the
sequences is kept apart and measures the agreement that is printed.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Iterator, Sequence

import torch
from torch.nn.functional import linear

from ..engine import Engine
from ..errors import ConfigError
from ..fitted import fingerprints
from ..fork_head import ForkHead, TrainedHead
from ..packed import Linear
from ..progress import Progress
from ..runner import ModelRunner
from .row_sums import sum_over_rows
from .self_text import Written, without_prompts

UNROLL = 4
TARGETS = 16
SHARPEN = 2.0  # the inverse of the targets' temperature: on held-out text its first tokens were right more often than at 1, and than with the argmax alone
STEP_WEIGHT = 0.8
LONGEST = 320  # tokens of a sequence that are used
TOP = (1, 2, 4, 8)
SAVE_EVERY = 50


@dataclass(frozen=True)
class Recipe:
    """What decides the result, beside the text: equal recipes on equal text give equal heads on one machine."""

    state_width: int = 768
    draft_tokens: int = 8192
    steps: int = 600
    batch: int = 48
    rate: float = 2e-3
    held_out: int = 32
    seed: int = 0

    def check(self, sequences: int | None) -> None:
        """Raises ConfigError for what cannot be trained; None where the text is not written yet."""
        for name in ("state_width", "draft_tokens", "steps", "batch", "held_out"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 < self.rate <= 1:
            raise ConfigError(f"rate must lie above 0 and at most 1, got {self.rate}")
        if sequences is not None and sequences < self.held_out + 1:
            raise ConfigError(f"{sequences} sequences are too few to keep {self.held_out} apart")


@dataclass
class Example:
    """The answer of one sequence, and the token before it: ids [t], final states [t, width], and after
    each the model's likeliest tokens, best first [t, TARGETS], with their sharpened probabilities [t, TARGETS]."""

    tokens: torch.Tensor
    final: torch.Tensor
    own: torch.Tensor
    own_p: torch.Tensor


class Examples:
    """Sequences with what the model says of them, computed when first wanted and kept in half precision.

    All of it lies in three tensors taken at once: one small block a sequence, between the large
    ones that come and go with every pass, would leave the heap full of holes.
    """

    def __init__(self, runner: ModelRunner, sequences: Sequence[Written]):
        self._runner, self._sequences = runner, sequences
        self._ends = list(accumulate(min(len(w.tokens), LONGEST) - _start(w) for w in sequences))
        rows = self._ends[-1] if self._ends else 0
        vocab, width = runner.model.get_output_embeddings().weight.shape
        self._final = torch.empty(rows, width, dtype=torch.bfloat16)
        self._own = torch.empty(rows, min(TARGETS, vocab), dtype=torch.long)
        self._own_p = torch.empty(self._own.shape)
        self._known: set[int] = set()

    def __len__(self) -> int:
        return len(self._sequences)

    def __getitem__(self, index: int) -> Example:
        written = self._sequences[index]
        rows = slice(self._ends[index - 1] if index else 0, self._ends[index])
        if index not in self._known:
            self._compute(written, rows)
            self._known.add(index)
        tokens = torch.tensor(written.tokens[_start(written) : LONGEST])
        return Example(tokens, self._final[rows], self._own[rows], self._own_p[rows])

    @torch.inference_mode()
    def _compute(self, written: Written, rows: slice) -> None:
        runner, sequence, start = self._runner, written.tokens[:LONGEST], _start(written)
        try:
            runner.reset(len(sequence))
            outputs = [output for _, output in runner.prefill(sequence, logits=True, want_final=True)]
        finally:
            runner.cache.clear()
        self._final[rows] = torch.cat([output.final for output in outputs])[start:].to("cpu", torch.bfloat16)
        logits = torch.cat([output.logits for output in outputs])[start:]
        own_p, own = (SHARPEN * logits).softmax(dim=-1).topk(self._own.shape[1], dim=-1)
        self._own[rows], self._own_p[rows] = own.cpu(), own_p.cpu()


def _start(written: Written) -> int:
    """The token before the answer's first."""
    return max(0, written.prompt - 1)


def train_head(
    engine: Engine, text: Sequence[Written], recipe: Recipe, progress: Progress,
    start: TrainedHead | None = None, checkpoint: Path | None = None, more: Sequence[Written] = (),
) -> TrainedHead:
    """Train on the answers in `text` and `more`, from `start` where one is given.

    The sequences that measure agreement are kept apart from `text`, and what `more` holds of their
    prompts, or of themselves where the prompt is not known, is left out; `start` may have met either.
    `checkpoint` is written as training goes on and, where it holds the same recipe, gone on from; it
    is removed at the end. Raises ConfigError for too little text or a model whose embedding is not as
    wide as its states.
    """
    text, more = _long_enough(text), _long_enough(more)
    recipe.check(len(text))
    model = engine.loaded.model
    width, embedded = model.get_output_embeddings().weight.shape[-1], model.get_input_embeddings().weight.shape[-1]
    if width != embedded:
        raise ConfigError(f"{engine.loaded.name} has embeddings {embedded} wide and states {width} wide; a fork head needs them equal")
    order = random.Random(recipe.seed).sample(range(len(text)), len(text))
    held_out = [text[i] for i in order[: recipe.held_out]]
    trained_on = [*(text[i] for i in order[recipe.held_out :]), *without_prompts(more, [w.tokens[: w.prompt or None] for w in held_out])]
    kept = Examples(engine.runner, held_out)
    used = Examples(engine.runner, trained_on)
    answers = [written.tokens[written.prompt :] for written in trained_on]
    vocab = frequent_tokens(answers, recipe.draft_tokens, start.draft_vocab.tolist() if start else [])
    torch.manual_seed(recipe.seed)
    network = start.network.requires_grad_(True) if start else ForkHead(width, recipe.state_width)
    network.to(engine.loaded.device).train()
    trainer = _Trainer(engine.runner, network, vocab.to(engine.loaded.device), recipe)
    trainer.resume(checkpoint)
    message = "training the head"
    for step in range(trainer.step, recipe.steps):
        loss = trainer.train_on([used[i] for i in batch_at(step, len(used), recipe)])
        if step % 25 == 0:
            message = f"training the head, loss {loss:.3f}"
        progress(message, (step + 1) / recipe.steps)
        if checkpoint is not None and step % SAVE_EVERY == SAVE_EVERY - 1:
            trainer.save(checkpoint)
    network.eval().requires_grad_(False)
    agreement = trainer.agreement([kept[i] for i in range(len(kept))])
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    provenance = {
        "command": "train-head", "model": engine.loaded.name, "device": str(engine.loaded.device), "recipe": asdict(recipe),
        "sequences": len(used), "tokens": sum(len(answer) for answer in answers), "started_from_a_head": start is not None,
    }
    return TrainedHead(network, vocab.cpu(), fingerprints(model), agreement, provenance)


def _long_enough(text: Sequence[Written]) -> list[Written]:
    """Those whose answer reaches as far as a position is unrolled."""
    return [w for w in text if min(len(w.tokens), LONGEST) - _start(w) > UNROLL]


def frequent_tokens(text: Sequence[Sequence[int]], count: int, more: Sequence[int] = ()) -> torch.Tensor:
    """The `count` most frequent token ids of a text, most frequent first; where it holds fewer, those of `more` follow."""
    seen = Counter(token for sequence in text for token in sequence)
    ranked = [token for token, _ in sorted(seen.items(), key=lambda item: (-item[1], item[0]))]
    return torch.tensor(list(dict.fromkeys([*ranked, *more]))[:count])


def batch_at(step: int, examples: int, recipe: Recipe) -> list[int]:
    """Which examples a step trains on: known from the step alone, so that a resumed run goes on as it would have."""
    epoch_steps = max(1, examples // recipe.batch)
    epoch, place = divmod(step, epoch_steps)
    order = random.Random(f"{recipe.seed} {epoch}").sample(range(examples), examples)
    return order[place * recipe.batch : (place + 1) * recipe.batch]


def _differentiable(weight: torch.Tensor, bias: torch.Tensor | None, dtype: torch.dtype) -> Linear:
    """A product that gradients flow through, which packed weights do not allow."""
    return partial(linear, weight=weight.to(dtype), bias=bias.to(dtype) if bias is not None else None)


class _Trainer:
    """The head, its optimiser and schedule."""

    def __init__(self, runner: ModelRunner, network: ForkHead, vocab: torch.Tensor, recipe: Recipe):
        self._runner, self._network, self._recipe = runner, network, recipe
        self._mixed = runner.model.dtype == torch.bfloat16
        dtype = torch.bfloat16 if self._mixed else torch.float32
        self._logits = runner.head_over(vocab, partial(_differentiable, dtype=dtype))
        full = runner.model.get_output_embeddings().weight.shape[0]
        #: Full vocabulary → place in the draft vocabulary, or -1 (no target) where it is not in it.
        self._place = torch.full((full,), -1, device=vocab.device)
        self._place[vocab] = torch.arange(len(vocab), device=vocab.device)
        self._optimizer = torch.optim.AdamW(network.parameters(), lr=recipe.rate, betas=(0.9, 0.95), weight_decay=0.01)
        self.step = 0

    def train_on(self, examples: Sequence[Example]) -> float:
        """One optimiser step; returns the loss."""
        self._set_rate()
        total = sum(STEP_WEIGHT**i for i in range(UNROLL))
        loss = torch.zeros((), device=self._place.device)
        with self._autocast(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Mismatch dtype between input and weight")  # of a norm, which is meant
            for depth, (read, own, own_p) in enumerate(self._unroll(examples)):
                loss = loss + STEP_WEIGHT**depth / total * self._loss(read, self._place[own], own_p)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._network.parameters(), 1.0)
        self._optimizer.step()
        self.step += 1
        return loss.item()

    def _loss(self, read: torch.Tensor, place: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        """Cross-entropy with `p` [n, t] at `place` [n, t] of what the head reads out [n, width], over what it may draft; 0-d."""
        p = p.masked_fill(place < 0, 0.0)
        mass = p.sum(dim=-1, keepdim=True)
        p, counted = p / mass.clamp_min(1e-6), (mass > 0).sum().clamp_min(1)

        def of_rows(read: torch.Tensor, rows: slice) -> torch.Tensor:
            log_q = self._logits(read).log_softmax(dim=-1).gather(-1, place[rows].clamp_min(0))
            return -(p[rows] * log_q).sum() / counted

        return sum_over_rows(of_rows, read)

    def _autocast(self) -> torch.autocast:
        """In a bfloat16 model's company the head trains in mixed precision; its weights stay float32."""
        return torch.autocast(self._place.device.type, torch.bfloat16, enabled=self._mixed)

    @torch.no_grad()
    def agreement(self, examples: Sequence[Example]) -> dict[str, float]:
        """Share of positions whose own token is among the head's first n, at the first drafted depth."""
        hits, seen = dict.fromkeys(TOP, 0), 0
        for start in range(0, len(examples), self._recipe.batch):
            with self._autocast():
                read, own, _ = next(self._unroll(examples[start : start + self._recipe.batch]))
                logits = self._logits(read)
            best = logits.topk(min(max(TOP), logits.shape[1]), dim=-1).indices
            right = best == self._place[own[:, :1]]
            for n in TOP:
                hits[n] += int(right[:, :n].any(dim=-1).sum())
            seen += len(own)
        return {f"top{n}": hits[n] / seen for n in TOP} if seen else {}

    def _unroll(self, examples: Sequence[Example]) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        """For each depth: what the head reads out [n, width], and the model's own tokens and their probabilities [n, TARGETS]."""
        device = self._place.device
        final = torch.cat([e.final[:-UNROLL] for e in examples]).to(device, torch.float32)
        state = self._network.start(final).float()
        for depth in range(1, UNROLL + 1):
            ends = [len(e.tokens) - UNROLL + depth for e in examples]
            tokens, own, own_p = (
                torch.cat([getattr(e, name)[depth:end] for e, end in zip(examples, ends)]).to(device) for name in ("tokens", "own", "own_p")
            )
            state = self._network.step(state, self._runner.embed(tokens).float())
            yield self._network.read(state), own, own_p

    def _set_rate(self) -> None:
        """Linear warm-up over a twentieth of the steps, then linear decay to nothing."""
        done, steps = self.step, self._recipe.steps
        warm = max(1, steps // 20)
        factor = min(1.0, (done + 1) / warm) * (1 - done / steps)
        for group in self._optimizer.param_groups:
            group["lr"] = self._recipe.rate * factor

    def save(self, path: Path) -> None:
        state = {"recipe": asdict(self._recipe), "step": self.step, "network": self._network.state_dict(),
                 "optimizer": self._optimizer.state_dict()}
        partial = path.with_suffix(".writing")
        torch.save(state, partial)
        partial.replace(path)

    def resume(self, path: Path | None) -> None:
        """Go on from a checkpoint of this very recipe, if there is one."""
        if path is None or not path.is_file():
            return
        try:
            state: dict[str, Any] = torch.load(path, map_location=self._place.device, weights_only=True)
            if state["recipe"] != asdict(self._recipe):
                return
            self._network.load_state_dict(state["network"])
            self._optimizer.load_state_dict(state["optimizer"])
            self.step = state["step"]
        except (OSError, RuntimeError, KeyError, ValueError, EOFError) as error:
            raise ConfigError(f"the checkpoint {path} is damaged ({error}); remove it to begin again") from None
