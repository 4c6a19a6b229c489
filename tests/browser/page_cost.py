"""What the page costs the engine: `python -m tests.browser.page_cost [TOKENS] [PAIRS]`.

One process holds the engine and serves the page to a real Chromium on the same machine, the worst
case. The same run is made with the page watching and without, in alternating order, and the ratio
of the engine's own tokens/s is printed. Run it on a quiet machine.
"""

from __future__ import annotations

import os
import statistics
import sys
import threading

from playwright.sync_api import Page, sync_playwright

from spork.config import SporkConfig
from tests.browser.conftest import QUIET, chromium_path
from ui.page import build_page, launch
from ui.settings import Settings

PROMPT = "Explain how photosynthesis works in simple terms."


def rate_alone(engine, config: SporkConfig) -> float:
    """tokens/s of a run that nobody watches, in a thread of its own as the page's runs are."""
    rates = []

    def run() -> None:
        *_, finished = engine.run(PROMPT, config)
        rates.append(finished.metrics["tokens_per_s"])

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return rates[0]


def rate_watched(page: Page) -> float:
    """tokens/s of the same run as the page shows it. Polls once a second, to cost next to nothing."""
    page.get_by_role("button", name="Generate").click()
    page.wait_for_timeout(500)
    page.wait_for_function(
        "document.querySelector('.sp-status').textContent.startsWith('Finished')", timeout=600_000, polling=1000
    )
    return float(page.evaluate("document.querySelector('.sp-meter').getAttribute('aria-valuenow')"))


def main(tokens: int = 96, pairs: int = 6) -> None:
    settings = Settings(max_new_tokens=tokens)
    config = SporkConfig.checked(max_new_tokens=tokens)
    demo = build_page(settings)
    _, url, _ = launch(demo, settings, prevent_thread_lock=True, quiet=True)
    desk = demo.desk

    def alone() -> float:
        while (engine := desk.borrow(desk.default)) is None:
            desk.wait(1.0)
        try:
            return rate_alone(engine, config)
        finally:
            desk.give_back(desk.default, engine)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=QUIET)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(url)
        page.wait_for_selector(".sp-plot .main-svg")
        alone(), rate_watched(page)  # warm-up
        ratios = []
        for pair in range(pairs):
            order = (alone, lambda: rate_watched(page))
            first, second = [run() for run in (order if pair % 2 == 0 else order[::-1])]
            quiet, watched = (first, second) if pair % 2 == 0 else (second, first)
            ratios.append(watched / quiet)
            print(f"alone {quiet:6.2f}   watched {watched:6.2f} tokens/s   ratio {ratios[-1]:.3f}", flush=True)
        print(f"median ratio {statistics.median(ratios):.3f} over {pairs} pairs ({min(ratios):.3f} to {max(ratios):.3f})")
        browser.close()
    demo.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
    os._exit(0)  # gradio's threads do not end by themselves
