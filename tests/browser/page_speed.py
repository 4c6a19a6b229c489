"""How fast the page is: `python -m tests.browser.page_speed [ROUNDS] [PER_SECOND]`.

A recorded round of 64 nodes is replayed as an engine would make it, ROUNDS times at PER_SECOND,
through the real server into a real Chromium. Printed: rounds received, redraws a second, latency
from the moment the server sent a round to the end of the animation frame that drew it, and from
when it was made (same machine, same clock), whether any element of the tree was replaced, memory after a forced collection, and
the rate the engine kept against the rate it keeps alone. The pace is the one for a GPU host, since
on a few CPU cores of its own the page is told less often. Run it on a quiet machine.
"""

from __future__ import annotations

import os
import statistics
import sys
import threading
import time
from dataclasses import dataclass, replace
from typing import Any, Iterator

from playwright.sync_api import sync_playwright

import ui.endpoints
import ui.live
from spork.config import SporkConfig
from spork.events import Fork, Node, Round, RunFinished, RunStarted
from tests.browser.conftest import QUIET, chromium_path
from tests.ui.fakes import FIGURES, finished, started
from ui.desk import ModelDesk
from ui.page import build_page, launch
from ui.settings import Settings

FORKS, DEPTH = 8, 8

#: Every drawing: when it was painted, and which round it shows.
WATCH = """() => {
  const plot = document.querySelector('.sp-plot .main-svg');
  // Drawing happens in an animation frame; a message sent from it is handled when the frame is painted.
  const channel = new MessageChannel();
  channel.port1.onmessage = (event) => window.drawn.push([Date.now(), event.data]);
  const shown = () => +document.querySelector('.sp-panel.is-tree h2').textContent.match(/\\d+/)[0];
  document.querySelector('.sp-plot .js-plotly-plot').on('plotly_afterplot', () => channel.port2.postMessage(shown()));
  window.sameSvg = () => document.querySelector('.sp-plot .main-svg') === plot;
}"""


def tree_of_64(index: int) -> Round:
    """A round whose first fork is accepted whole: 8 forks of 8 tokens."""
    nodes = [
        Node(1 + f * DEPTH + d, 0 if d == 0 else f * DEPTH + d, d + 1, f, 100 + d, f" t{(index + f + d) % 97}" + ("\n" if d == 0 and index % 2 else ""), 0.25, 1.0 if f == 0 else 0.1,
             "accepted" if f == 0 else "rejected")
        for f in range(FORKS) for d in range(DEPTH)
    ]  # fmt: skip
    forks = [Fork([1 + f * DEPTH + d for d in range(DEPTH)], 1.0 if f == 0 else 0.1) for f in range(FORKS)]
    pieces = [node.text for node in nodes[:DEPTH]]
    return Round(
        index=index, clock_s=0.005 * index, k=FORKS, m=DEPTH - 1, tau=1.0, root_id=7, root_text=" root", nodes=nodes, forks=forks,
        decision="accepted", chosen=0, reason="fork 1: all accepted", committed=[100 + d for d in range(DEPTH)], pieces=pieces,
        statuses=["accepted"] * DEPTH, text="".join(pieces), ms={"propose": 1.0, "verify": 3.0, "select": 0.5, "other": 0.5},
        running=dict(FIGURES),
    )  # fmt: skip


@dataclass
class Loaded:
    name: str = "replay"
    device: str = "cuda"
    dtype: str = "torch.bfloat16"


class Replay:
    """Makes rounds at a fixed rate; `made[i]` is when round i was there, in milliseconds since the epoch."""

    loaded = Loaded()
    reference = None

    def __init__(self, rounds: int, per_second: float):
        self.rounds, self.per_second = rounds, per_second
        self.made: list[float] = []
        self.sent: list[float] = []
        self.seconds = 0.0

    def check(self, prompt: str, config: SporkConfig) -> None:
        pass

    def run(self, prompt: str, config: SporkConfig, *, cancel: threading.Event | None = None) -> Iterator[RunStarted | Round | RunFinished]:
        self.made, self.sent = [], []
        yield replace(started(k=FORKS, m=DEPTH - 1), device="cuda")
        began = time.perf_counter()
        for index in range(self.rounds):
            event = tree_of_64(index)
            pause = began + index / self.per_second - time.perf_counter()
            if pause > 0:
                time.sleep(pause)
            self.made.append(time.time() * 1000)
            yield event
        self.seconds = time.perf_counter() - began
        yield finished(self.rounds)


def alone(engine: Replay) -> float:
    """Rounds a second with nobody watching."""
    for _ in engine.run("", SporkConfig()):
        pass
    return engine.rounds / engine.seconds


def watched(engine: Replay, page: Any) -> dict[str, Any]:
    page.evaluate("window.drawn = []")
    memory = [heap(page)]
    page.get_by_role("button", name="Generate").click()
    page.wait_for_function("document.querySelector('.sp-status').textContent.startsWith('Finished')", timeout=600_000, polling=500)
    page.wait_for_timeout(1000)
    memory.append(heap(page))
    drawn = page.evaluate("window.drawn")
    during = [(at, seen) for at, seen in drawn if engine.made[0] <= at <= engine.made[-1] and seen]
    return {
        "received": page.evaluate("+document.querySelector('.sp-strip').getAttribute('aria-valuemax')"),
        "redraws": len(during) / engine.seconds,
        "latency": statistics.median(at - engine.sent[seen - 1] for at, seen in during),
        "age": statistics.median(at - engine.made[seen - 1] for at, seen in during),
        "replaced": not page.evaluate("window.sameSvg()"),
        "memory": memory,
        "rate": engine.rounds / engine.seconds,
    }


def note_sending(engine: Replay) -> None:
    """Have `engine.sent[i]` tell when the frame with round i was handed to the server."""
    frame = ui.endpoints.batch_frame

    def noted(run: str, batch: Any) -> str:
        made = frame(run, batch)
        rounds = sum(isinstance(event, Round) for event in batch.events)
        engine.sent += [time.time() * 1000] * rounds
        return made

    ui.endpoints.batch_frame = noted


def heap(page: Any) -> float:
    """Live script memory in MB, after a forced collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")["usedSize"] / 2**20
    session.detach()
    return used


def main(rounds: int = 2000, per_second: float = 200) -> None:
    engine = Replay(rounds, per_second)
    settings = Settings()
    note_sending(engine)
    demo = build_page(settings, ModelDesk(settings, ("replay",), load=lambda *_: engine))
    _, url, _ = launch(demo, settings, prevent_thread_lock=True, quiet=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=QUIET)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(url)
        page.wait_for_selector(".sp-plot .main-svg")
        page.wait_for_timeout(3000)
        page.evaluate(WATCH)
        rates = [alone(engine)]
        found = [watched(engine, page) for _ in range(2)]
        rates.append(alone(engine))
        browser.close()
    demo.close()
    pace = ui.live.page_pace("cuda", local=True)
    print(f"64 nodes, {rounds} rounds asked for at {per_second:g}/s, pace {pace.hz:g} Hz, twice in one page:")
    for run in found:
        print(
            f"  rounds received {run['received']}/{rounds}   redraws {run['redraws']:.1f}/s   median latency {run['latency']:.0f} ms "
            f"({run['age']:.0f} from when the round was made)   "
            f"elements replaced: {'yes' if run['replaced'] else 'no'}   script memory {run['memory'][0]:.1f} to {run['memory'][1]:.1f} MB"
        )
    print(f"  engine kept {statistics.mean(r['rate'] for r in found) / statistics.mean(rates):.3f} of its rate alone ({statistics.mean(rates):.0f} rounds/s)")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
    os._exit(0)  # gradio's threads do not end by themselves
