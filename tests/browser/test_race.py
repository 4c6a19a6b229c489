"""Greedy and SPORK side by side: measured, replayed on one clock, and shown in Live."""

import re

import pytest


@pytest.fixture(scope="module")
def raced(shared_visits):
    """A visitor whose race of a few tokens is over."""
    visit = shared_visits(reduced_motion="reduce").open("?max_new_tokens=16&prompt=Say%20hello.#race")
    visit.page.get_by_role("button", name="Race greedy").click()
    visit.page.locator(".sp-verdict").wait_for(timeout=90_000)
    visit.wait_idle()
    return visit


def test_a_race_says_who_was_faster_and_that_the_text_is_the_same(raced):
    page = raced.page
    verdict = raced.text(".sp-verdict")
    assert verdict == "Too close to call on this machine" or re.fullmatch(r"SPORK was (\d\.\d\d× as fast as|slower than) greedy(: \d\.\d\d×)?", verdict)
    assert "identical to greedy" in raced.text(".is-verdict .sp-parity")
    if not verdict.startswith("Too close"):
        low, high = map(float, re.search(r"([\d.]+)× (?:to ([\d.]+)× )?against each", raced.text(".is-verdict")).groups(default="0"))
        assert low <= float(re.search(r"\d\.\d\d", verdict)[0]) <= (high or low) + 0.01, "the headline lies within its range"
    lanes = [page.locator(f".sp-lane.is-{name} .sp-lane-text").inner_text() for name in ("greedy", "spork")]
    assert lanes[0] == lanes[1] != ""
    page.get_by_text("How this was measured").last.click()
    how = raced.text(".is-verdict .sp-how")
    assert "between two greedy runs" in how and "smollm2-135m" in how and "torch" in how


def test_the_clock_is_dragged_and_shows_as_much_as_was_there(raced):
    """At the start no text, at the end all of it; greedy's and SPORK's on one scale."""
    clock = raced.page.get_by_role("slider", name="Race clock")
    hidden = "document.querySelectorAll('.sp-lane-text .is-unborn').length"
    assert raced.page.evaluate(hidden) == 0
    clock.focus()
    raced.page.keyboard.press("Home")
    every = "document.querySelectorAll('.sp-lane-text span').length"
    assert raced.page.evaluate(hidden) == raced.page.evaluate(every) > 0
    assert clock.get_attribute("aria-valuetext") == "0.00 seconds"
    raced.page.keyboard.press("End")
    assert raced.page.evaluate(hidden) == 0


def test_its_run_opens_in_live_and_its_card_is_saved(raced, tmp_path):
    page = raced.page
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the result as SVG").click()
    card = tmp_path / "card.svg"
    download.value.save_as(card)
    words = card.read_text(encoding="utf-8")
    assert raced.text(".sp-verdict") in words and "Say hello." in words and "identical" in words
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the result as PNG").click()
    download.value.save_as(tmp_path / "card.png")
    assert (tmp_path / "card.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    page.get_by_role("button", name="Open this run in Live").click()
    assert "from a race" in raced.text(".sp-badge")
    assert "same prompt" in raced.text(".is-gauges") and "identical to greedy" in raced.text(".is-gauges")
    assert raced.page.locator(".spork-view .sp-token").count() > 3
    page.get_by_role("tab", name="Race").click()


def test_stop_ends_a_race_and_the_next_run_works(new_visit):
    visit = new_visit().open("#race")
    visit.page.get_by_role("button", name="Race greedy").click()
    visit.page.wait_for_function("document.querySelector('.spork-race .sp-status').innerText.startsWith('Lap')", timeout=60_000)
    visit.stop()
    visit.wait_idle()
    assert "Stopped" in visit.text(".spork-race .sp-status")
    assert not visit.page.locator(".sp-verdict").is_visible()
    visit.page.get_by_role("tab", name="Live").click()
    visit.generate("Say hello.")
    visit.wait_live(1)
    visit.wait_idle()
