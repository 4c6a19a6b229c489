"""A real server with the real engine, and a real Chromium. Neither is optional: without, tests fail."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()

#: Runs on the test server are short: the page asks for this many tokens.
NEW_TOKENS = 48


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(item.fspath).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.real_model)


@pytest.fixture(scope="session")
def server():
    """Address of `python app.py`, its model loaded."""
    port = _free_port()
    log = ROOT / ".pytest_cache" / f"browser-server-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}.log"
    log.parent.mkdir(exist_ok=True)
    # One thread: workers run side by side, a server each, and browsers need a core too.
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "app.py", "--port", str(port), "--device", "cpu", "--dtype", "float32", "--max-new-tokens", str(NEW_TOKENS)]
    with open(log, "w") as out:
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out, env=environment)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_loaded(url, process, log)
        yield url
        assert process.poll() is None, log.read_text()
        assert "Traceback" not in log.read_text(), log.read_text()
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_loaded(url: str, process: subprocess.Popen, log: Path, seconds: float = 240) -> None:
    """The status endpoint ends when the model is there."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            from gradio_client import Client

            status = json.loads(list(Client(url, verbose=False).submit(api_name="/model_status"))[-1])
        except Exception:
            time.sleep(0.5)
            continue
        assert status["state"] == "ready", status
        return
    pytest.fail(f"the server did not come up:\n{log.read_text()}")


def chromium_path() -> str | None:
    """$SPORK_CHROMIUM, else the first Chromium or Chrome on the path."""
    return os.environ.get("SPORK_CHROMIUM") or next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )


@pytest.fixture(scope="session")
def browse(tmp_path_factory):
    """`browse(locale)`: a Chromium of its own for each language, with a profile on disk.

    Unlike a private window, one with a profile keeps compiled scripts, which halves what opening the page costs.
    """
    path = chromium_path()
    if path is None:
        pytest.fail("no Chromium found; install one or set SPORK_CHROMIUM", pytrace=False)
    made: dict[str, BrowserContext] = {}
    with sync_playwright() as playwright:

        def browse(locale: str) -> BrowserContext:
            if locale not in made:
                made[locale] = playwright.chromium.launch_persistent_context(
                    tmp_path_factory.mktemp("profile"), executable_path=path, args=QUIET, locale=locale, accept_downloads=True,
                )  # fmt: skip
                made[locale].set_default_timeout(20_000)
            return made[locale]

        yield browse
        for context in made.values():
            context.close()


class Visit:
    """One visitor's page, and everything it must not do: errors, and requests to other hosts."""

    def __init__(self, page: Page, url: str):
        self.page, self.url = page, url
        self.errors: list[str] = []
        self.outside: list[str] = []
        page.on("console", lambda m: m.type == "error" and self.errors.append(m.text))
        page.on("pageerror", lambda e: self.errors.append(str(e)))
        page.on("request", lambda r: self._local(r.url) or self.outside.append(r.url))

    def _local(self, url: str) -> bool:
        return url.startswith((self.url, "data:", "blob:"))

    def open(self, query: str = "") -> "Visit":
        """`query` may carry settings, and after # the tab to open; Live is drawn when it is seen."""
        self.page.goto(f"{self.url}/{query}")
        tab = query.partition("#")[2] or "live"
        ready = {"live": ".sp-plot .main-svg", "race": ".spork-race", "tune": ".spork-tune .sp-form", "learn": ".sp-lesson h2"}
        self.page.wait_for_selector(ready[tab])
        return self

    def generate(self, prompt: str | None = None) -> None:
        if prompt is not None:
            self.page.get_by_label("Prompt", exact=True).fill(prompt)
        self.page.get_by_role("button", name="Generate").click()

    def stop(self) -> None:
        self.page.get_by_role("button", name="Stop").click()

    def wait_live(self, rounds: int = 2) -> None:
        """Until a live run has made some rounds."""
        self.page.wait_for_function(
            "n => document.querySelector('.sp-badge').classList.contains('is-live')"
            " && +document.querySelector('.sp-strip').getAttribute('aria-valuemax') >= n",
            arg=rounds, timeout=60_000,
        )  # fmt: skip

    def wait_idle(self) -> None:
        self.page.wait_for_function("!document.body.classList.contains('spork-busy')", timeout=90_000)

    def upload(self, path: Path) -> None:
        with self.page.expect_file_chooser() as chooser:
            self.page.get_by_role("button", name="Load trace").click()
        chooser.value.set_files(str(path))

    def forgive_reload(self) -> None:
        """Gradio itself reports the requests that a reload cuts off."""
        own = ("AbortError", "BodyStreamBuffer", "Connection errored out")
        self.errors[:] = [error for error in self.errors if not any(word in error for word in own)]

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    @property
    def status(self) -> str:
        return self.text(".spork-view .sp-status")

    @property
    def round_title(self) -> str:
        return self.text(".sp-panel.is-tree h2")

    @property
    def slider(self):
        return self.page.get_by_role("slider", name="Round", exact=True)


DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@contextmanager
def visits_to(browse, server):
    """A maker of visitors; when the block ends, every one is checked for errors and closed."""
    visits: list[Visit] = []

    def make(viewport=DESK, locale="en-US", color_scheme="light", reduced_motion="no-preference") -> Visit:
        page = browse(locale).new_page()
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        visits.append(Visit(page, server))
        return visits[-1]

    yield make
    for visit in visits:
        visit.page.close()
    assert [error for visit in visits for error in visit.errors] == []
    assert [url for visit in visits for url in visit.outside] == []


@pytest.fixture
def new_visit(browse, server):
    """Make visitors of one's own."""
    with visits_to(browse, server) as make:
        yield make


@pytest.fixture
def visit(new_visit) -> Visit:
    return new_visit().open()


@pytest.fixture(scope="module")
def shared_visits(browse, server):
    """Visitors for tests that leave the page fit for the next one: opening it takes seconds of both cores."""
    with visits_to(browse, server) as make:
        yield make
