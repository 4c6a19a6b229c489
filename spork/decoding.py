"""Decoding: the rounds of one run, from the first prefill chunk to the last token."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Iterator, Sequence

import torch

from .clock import PhaseClock
from .config import SporkConfig
from .control import Control
from .fixed_rounds import FixedRounds
from .events import FinishReason, Fork, Node, Round, RunFinished, Status
from .metrics import Meter, peak_memory_bytes
from .models import LoadedModel
from .proposers import Proposer
from .round_context import RoundContext
from .runner import ModelRunner
from .sampling import TokenLaw, penalty_in_force
from .selection import Choice, select
from .states import NodeStates
from .text import OutputText, token_label
from .tree import ROOT, ForkTree
from .verifiers import Verdict, Verifier


@dataclass
class Committed:
    """What of a round's block survived the stop rules: tokens, their text, how each came."""

    tokens: list[int]
    pieces: list[str]
    statuses: list[Status]
    reason: FinishReason | None = None


class Decoding:
    """State of one run. `proposer` None decodes one token a round (the plain baseline)."""

    def __init__(
        self,
        loaded: LoadedModel,
        runner: ModelRunner,
        proposer: Proposer | None,
        verifier: Verifier,
        config: SporkConfig,
        prompt: Sequence[int],
        reference: dict[str, Any] | None,
        control: Control | None = None,
        fixed: FixedRounds | None = None,
    ):
        self._loaded, self._runner, self._control, self._fixed = loaded, runner, control, fixed
        self._proposer, self._verifier, self._config = proposer, verifier, config
        self._text = list(prompt)  # prompt and output; the last token is the root
        self._prompt_tokens = len(prompt)
        self._output = OutputText(loaded.tokenizer, config.stop)
        self._paired = bool(reference and reference.get("paired"))
        self._meter = Meter(reference["tokens_per_s"] if reference else None)
        self._law = TokenLaw(config, penalty_in_force(config, loaded.model))
        self._labels: dict[int, str] = {}
        self._tau = config.tau
        parts = [part for part in (proposer, verifier) if part is not None]
        self._wants_final = any(part.wants_final for part in parts)
        self._taps = sorted({n for part in parts for n in part.taps})
        #: Final hidden state of the token before the root, where one of them wants it.
        self._before_root: torch.Tensor | None = None

    def events(self, cancel: threading.Event | None) -> Iterator[Round | RunFinished]:
        """Rounds until something ends the run, then RunFinished."""
        reason, message = self._limit_reached(), None
        prefilled = False
        while reason is None:
            if cancel is not None and cancel.is_set():
                reason = "cancelled"
                break
            try:
                if not prefilled:
                    self._prefill(cancel)
                    prefilled = True
                    continue  # a long prompt may have been cancelled meanwhile
                event, reason = self._round()
            except RuntimeError as error:  # the device's own: out of memory, a lost GPU
                reason, message = "error", f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
                break
            yield event
        yield self._finished(reason, message)

    @torch.inference_mode()
    def _prefill(self, cancel: threading.Event | None) -> None:
        room = min(self._config.max_new_tokens, self._loaded.context_length - len(self._text))
        scratch = self._config.k * (self._config.m + 1) + 1
        slots = len(self._text) + room + scratch
        if self._fixed is not None:
            self._fixed.begin(slots)
        else:
            self._runner.reset(slots)
        if self._proposer is not None:
            self._proposer.begin(self._text)
        wants_logits = self._proposer is not None and self._proposer.reads_logits
        wants_final = self._wants_final
        for chunk, output in self._runner.prefill(self._text[:-1], logits=wants_logits, want_final=wants_final):
            if wants_final:
                self._before_root = output.final[-1]
            if wants_logits:
                self._proposer.saw(chunk, output.logits)
            if cancel is not None and cancel.is_set():
                return

    def _room(self) -> int:
        """Tokens that may still be committed."""
        budget = self._config.max_new_tokens - (len(self._text) - self._prompt_tokens)
        return min(budget, self._loaded.context_length - len(self._text))

    def _limit_reached(self) -> FinishReason | None:
        if len(self._text) - self._prompt_tokens >= self._config.max_new_tokens:
            return "length"
        return "context" if len(self._text) >= self._loaded.context_length else None

    @torch.inference_mode()
    def _round(self) -> tuple[Round, FinishReason | None]:
        clock = PhaseClock(self._runner.device)
        root = self._text[-1]
        # Near a limit the tree shrinks: a bonus token needs room too.
        depth = min(self._config.m + 1, self._room() - (1 if self._verifier.gives_bonus else 0))
        if self._fixed is not None:
            tree, verdict, choice, turned_down = self._fixed_round(clock, depth)
        else:
            tree, verdict, choice, turned_down = self._eager_round(clock, depth)
        committed = self._commit(tree, choice)
        self._law.forget_before(len(self._text))
        # Drawing data is made on the clock too: it is part of what a round costs here.
        nodes = self._nodes(tree, verdict, choice, committed)
        forks = [
            Fork(tree.deepest_path(choice.path[-1] if fork in choice.path else fork), score)
            for fork, score in zip(tree.children(ROOT), verdict.fork_scores)
        ]
        clock_s = self._meter.seconds
        index = self._meter.rounds
        if self._proposer is not None:
            self._proposer.committed(committed.tokens)
        ms = clock.stop()
        for controller in (self._control, self._fixed):
            if controller is not None:
                controller.learn(len(choice.path), ms)
        self._meter.add_round(
            committed=len(committed.tokens), accepted=choice.decision == "accepted",
            accepted_depth=len(choice.path), drafted_depth=tree.depth, ms=ms,
        )
        event = Round(
            index=index, clock_s=clock_s, k=self._config.k, m=self._config.m, tau=self._tau,
            root_id=root, root_text=self._label(root), nodes=nodes, forks=forks,
            decision=choice.decision, chosen=choice.fork, reason=choice.reason,
            committed=committed.tokens, pieces=committed.pieces, statuses=committed.statuses,
            text="".join(committed.pieces), ms=ms, running=self._meter.running(),
            turned_down=turned_down,
        )
        return event, committed.reason

    def _eager_round(self, clock: PhaseClock, depth: int) -> tuple[ForkTree, Verdict, Choice, str | None]:
        """Propose, verify and select, pass by pass; the cache holds the chosen path after it."""
        tree = ForkTree.rooted(self._text[-1])
        states = NodeStates(self._runner, tree, self._text, self._taps, self._wants_final, self._before_root)
        if self._control is not None:
            depth = self._control.plan(depth)
        context = RoundContext(
            self._text, self._config.k, depth, self._tau, states, tree, self._law, self._loaded.end_tokens,
            self._control.deepen if self._control is not None else None,
        )
        clock.enter("propose")
        if self._proposer is not None:
            self._proposer.propose(context)
        if self._control is not None:
            context.trim(self._control.paying(tree))
        clock.enter("verify")
        verdict = self._verifier.verify(context)
        clock.enter("select")
        choice = select(tree, verdict, self._tau, self._quoted)
        states.keep(choice.path)
        # The next root is the last committed token; the node before it, if no full pass ran it, will
        # be in the next round's trunk.
        chain = [ROOT, *choice.path]
        self._before_root = states.final(chain[-1] if choice.next_token is not None else chain[-2])
        clock.enter("other")
        self._learn(states, choice)
        return tree, verdict, choice, self._control.turned_down if self._control is not None else None

    def _fixed_round(self, clock: PhaseClock, depth: int) -> tuple[ForkTree, Verdict, Choice, str | None]:
        """The same in one piece on the device, where the round's shape is all the host decides."""
        clock.enter("verify")
        tree, verdict = self._fixed.round(self._text, depth, self._before_root)
        clock.enter("select")
        choice = select(tree, verdict, self._tau, self._quoted)
        clock.enter("other")
        return tree, verdict, choice, self._fixed.turned_down

    def _commit(self, tree: ForkTree, choice: Choice) -> Committed:
        """Append the block token by token, cutting it at the first thing that ends the run."""
        block: list[tuple[int, Status]] = [(tree.tokens[n], "accepted") for n in choice.path]
        if choice.next_token is not None:
            block.append((choice.next_token, "bonus" if choice.path else "fallback"))
        done = Committed([], [], [])
        for token, status in block:
            piece, stopped = self._output.push(token)
            self._text.append(token)
            done.tokens.append(token)
            done.pieces.append(piece)
            done.statuses.append(status)
            if stopped:
                done.reason = "stop"
            elif token in self._loaded.end_tokens:
                done.reason = "eos"
            else:
                done.reason = self._limit_reached()
            if done.reason:
                break
        if done.reason in ("eos", "length", "context"):
            done.pieces[-1] += self._output.finish()
        return done

    def _learn(self, states: NodeStates, choice: Choice) -> None:
        """Show the proposer what the model said; the chosen path last, so it wins."""
        if self._proposer is None or not self._proposer.reads_logits:
            return
        kept = {ROOT, *choice.path}
        for full_pass in states.full_passes:
            order = sorted(range(len(full_pass.tokens)), key=lambda row: full_pass.nodes[row] in kept)
            tokens = [full_pass.tokens[row] for row in order]
            self._proposer.saw(tokens, full_pass.output.logits[order])

    def _nodes(self, tree: ForkTree, verdict: Verdict, choice: Choice, committed: Committed) -> list[Node]:
        accepted = set(choice.path[: len(committed.tokens)])
        nodes = [
            Node(
                id=n, parent=tree.parents[n], depth=tree.depths[n], rank=tree.ranks[n], token_id=tree.tokens[n],
                text=self._label(tree.tokens[n]), draft_p=tree.draft_p[n], score=verdict.node_scores[n],
                status="accepted" if n in accepted else "rejected",
            )
            for n in range(1, len(tree))
        ]
        if choice.next_token is not None and len(committed.tokens) > len(choice.path):
            self._add_own_token(tree, choice, nodes)
        return nodes

    def _add_own_token(self, tree: ForkTree, choice: Choice, nodes: list[Node]) -> None:
        """Show the bonus or fallback token: a node of its own, or the drafted one that carries it."""
        end = choice.path[-1] if choice.path else ROOT
        status: Status = "bonus" if choice.path else "fallback"
        drafted = tree.child(end, choice.next_token)
        if drafted is not None:
            nodes[drafted - 1].status = status
            return
        nodes.append(
            Node(
                id=len(tree), parent=end, depth=tree.depths[end] + 1, rank=len(tree.children(end)),
                token_id=choice.next_token, text=self._label(choice.next_token),
                draft_p=None, score=None, status=status,
            )
        )

    def _finished(self, reason: FinishReason, message: str | None) -> RunFinished:
        if reason in ("cancelled", "error"):
            self._output.finish()
        return RunFinished(
            reason=reason,
            text=self._output.text,
            token_ids=list(self._output.token_ids),
            prompt_tokens=self._prompt_tokens,
            rounds=self._meter.rounds,
            message=message,
            metrics=self._meter.final(
                peak_memory_bytes=peak_memory_bytes(self._runner.device), paired=self._paired, parity=None
            ),
        )

    def _label(self, token: int) -> str:
        if token not in self._labels:
            self._labels[token] = token_label(self._loaded.tokenizer, token)
        return self._labels[token]

    def _quoted(self, token: int) -> str:
        return f"“{self._label(token).replace(chr(10), '↵')}”"
