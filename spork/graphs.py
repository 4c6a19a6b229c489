"""Graphs: rounds of fixed shape, each captured once as a CUDA graph and replayed.

A decoding step of a small model is hundreds of short kernels; launching them one by one takes
longer than running them. A graph launches a whole round at once. Shapes are captured when first
needed and share one memory pool. Where capture is impossible (a layer that must ask the host, an
offloaded model) the reason is logged once and the same program runs without a graph.
"""

from __future__ import annotations

import logging

import torch

from .clock import wait_for
from .draft_head import DraftHead
from .runner import ModelRunner
from .static_round import Outcome, RoundState, Shape, StaticRound
from .wording import one_line

log = logging.getLogger(__name__)

#: Slots attention reads: the smallest of these that holds the text; each is a graph of its own.
SMALLEST_TIER = 256


def tier_for(slots: int) -> int:
    """The tier that holds this many slots: powers of two."""
    tier = SMALLEST_TIER
    while tier < slots:
        tier *= 2
    return tier


class Rounds:
    """Rounds of fixed shape over one model; `state` goes from each to the next."""

    def __init__(self, runner: ModelRunner, head: DraftHead | None, ends: frozenset[int]):
        self.runner, self._head = runner, head
        self._ends = torch.tensor(sorted(ends), dtype=torch.long, device=runner.device)
        self.state = RoundState(runner)
        self._programs: dict[Shape, StaticRound] = {}
        self._graphs: dict[Shape, torch.cuda.CUDAGraph] = {}
        self._moves = -1
        self._can_capture = runner.device.type == "cuda"
        self._pool = torch.cuda.graph_pool_handle() if self._can_capture else None

    def prepare(self, slots: int) -> int:
        """Make room for a text of `slots` slots, trees included, and return its tier."""
        tier = tier_for(slots)
        self.runner.reset(tier)
        if self.runner.cache.moves != self._moves:  # graphs hold the addresses they were captured with
            self._programs.clear()
            self._graphs.clear()
            self._moves = self.runner.cache.moves
        return tier

    def play(self, shape: Shape) -> Outcome:
        """One round; reads and updates `state`, commits on the device, and returns what it came to."""
        if shape not in self._programs:
            self._programs[shape] = StaticRound(self.runner, self._head, self.state, shape, self._ends)
            if self._can_capture:
                self._capture(shape)
        if shape in self._graphs:
            self._graphs[shape].replay()
        else:
            self._programs[shape].run()
        return self._programs[shape].read()

    @torch.inference_mode()
    def _capture(self, shape: Shape) -> None:
        program, state = self._programs[shape], self.state
        before = [t.clone() for t in (state.root, state.length, state.before)]

        def rewind() -> None:
            for tensor, value in zip((state.root, state.length, state.before), before):
                tensor.copy_(value)

        try:
            side = torch.cuda.Stream(self.runner.device)
            side.wait_stream(torch.cuda.current_stream(self.runner.device))
            with torch.cuda.stream(side):
                for _ in range(2):  # kernels are chosen and workspaces made outside the graph
                    program.run()
                    rewind()
            torch.cuda.current_stream(self.runner.device).wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self._pool):
                program.run()
            self._graphs[shape] = graph
        except RuntimeError as error:
            log.warning("no CUDA graph for this model, rounds run one kernel at a time: %s", one_line(error))
            self._can_capture = False
        finally:
            wait_for(self.runner.device)
            rewind()


def can_play(runner: ModelRunner) -> bool:
    """Whether rounds of fixed shape are worth it and possible: all of the model on one CUDA device."""
    devices = {parameter.device for parameter in runner.model.parameters()}
    return devices == {runner.device} and runner.device.type == "cuda" and not hasattr(runner.model, "hf_device_map")
