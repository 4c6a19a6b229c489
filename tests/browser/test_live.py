"""Generating, stopping, queueing and leaving, as a visitor does."""

import re
import time

import pytest

from ui.components import ASSETS

from .conftest import NEW_TOKENS


def test_it_opens_on_a_recorded_run(visit):
    assert "recorded" in visit.text(".sp-badge")
    assert re.match(r"Round \d+ of \d+", visit.round_title)
    assert visit.page.locator(".spork-view .sp-token").count() > 20
    visit.page.wait_for_function("document.querySelector('.sp-model').innerText.includes('smollm2-135m')")


def test_generate_streams_a_run_to_its_end(visit):
    visit.generate("Count from one to twenty.")
    visit.wait_live()
    assert visit.text(".sp-badge").split() == ["●", "live"]
    visit.wait_idle()
    assert "reached the number of new tokens" in visit.status or "ended its answer" in visit.status
    pieces = visit.page.locator(".spork-view .sp-token").all_inner_texts()
    assert 0 < len(pieces) <= NEW_TOKENS
    rounds = int(visit.slider.get_attribute("aria-valuemax"))
    assert visit.round_title == f"Round {rounds} of {rounds}"
    assert re.search(r"\d+ tokens in \d+ rounds", visit.page.locator(".spork-view .sp-said").text_content())
    rate = visit.page.get_by_role("meter", name="tokens/s")
    assert float(rate.get_attribute("aria-valuenow")) > 0
    assert visit.page.locator(".sp-plot .scatterlayer .points path").count() >= 2


def test_stop_ends_within_a_round_and_the_next_run_works(visit):
    visit.generate("Write a long story about the sea.")
    visit.wait_live()
    began = time.monotonic()
    visit.stop()
    visit.wait_idle()
    assert time.monotonic() - began < 5
    assert "Stopped" in visit.status
    assert int(visit.slider.get_attribute("aria-valuemax")) < NEW_TOKENS
    visit.generate("Say hello.")
    visit.wait_live(1)
    visit.wait_idle()
    assert visit.text(".sp-flow-prompt") == "Say hello."
    assert "Finished" in visit.status


def test_a_score_below_the_line_never_reads_as_on_it(visit):
    """The scripts' own function, in a page's world: scores that rounding would put on tau."""
    source = (ASSETS / "js" / "shared" / "format.js").read_text(encoding="utf-8").replace("const Format", "window.TestFormat")
    visit.page.evaluate(source)
    said = visit.page.evaluate("[[0.0197, 0.02], [0.999, 1], [0.72, 1], [1, 1], [0.5, 0.5], [0.02, 0.02]].map(([s, t]) => TestFormat.score(s, t))")
    assert said == ["0.0197", "0.999", "0.72", "1.00", "0.50", "0.02"]


def test_looking_back_does_not_stop_the_run(visit):
    visit.generate("Write a long story about a mountain.")
    visit.wait_live(4)
    visit.slider.focus()
    visit.page.keyboard.press("Home")
    assert visit.round_title == "Round 1"
    seen = int(visit.slider.get_attribute("aria-valuemax"))
    visit.page.wait_for_function("n => +document.querySelector('.sp-strip').getAttribute('aria-valuemax') > n", arg=seen)
    assert visit.round_title.startswith("Round 1")
    assert visit.page.get_by_role("button", name="Follow live").get_attribute("aria-pressed") == "false"
    visit.page.get_by_role("button", name="Follow live").click()
    visit.page.wait_for_function("!document.querySelector('.sp-panel.is-tree h2').textContent.match(/^Round 1( |$)/)")
    visit.stop()
    visit.wait_idle()


def test_reloading_frees_the_engine(visit):
    visit.generate("Write a long story about a river.")
    visit.wait_live()
    visit.page.reload()
    visit.page.wait_for_selector(".sp-plot .main-svg")
    visit.forgive_reload()
    assert "recorded" in visit.text(".sp-badge")
    began = time.monotonic()
    visit.generate("Say hello.")
    visit.wait_live(1)
    assert time.monotonic() - began < 15
    visit.wait_idle()


def test_closing_the_tab_frees_the_engine_for_the_next_visitor(new_visit):
    first, second = new_visit().open(), new_visit().open()
    first.generate("Write a long story about a forest.")
    first.wait_live()
    second.generate("Say hello.")
    second.page.wait_for_function("document.querySelector('#spork-queue').innerText.includes('queue')")
    assert "recorded" in second.text(".sp-badge")
    first.page.close()
    second.wait_live(1)
    second.wait_idle()
    assert second.text(".sp-flow-prompt") == "Say hello."


def test_bad_input_is_said_and_nothing_is_lost(visit):
    before = visit.round_title
    visit.generate("   ")
    visit.page.get_by_text("the prompt is empty; write at least one character").wait_for()
    visit.wait_idle()
    assert visit.round_title == before and "recorded" in visit.text(".sp-badge")
    visit.generate("Say hello.")
    visit.wait_live(1)
    visit.wait_idle()


@pytest.fixture(scope="module")
def chooser(shared_visits):
    """A visitor who chooses and has not run anything."""
    return shared_visits().open()


def test_the_notes_say_what_a_choice_means(chooser):
    notes = chooser.page.locator(".sp-knob-notes")
    assert "Lossless" in notes.inner_text()
    tau = chooser.page.get_by_role("slider", name="tau")
    tau.focus()
    tau.press("ArrowLeft")
    chooser.page.wait_for_function("document.querySelector('.sp-knob-notes').innerText.includes('changes the text')")
    chooser.page.get_by_label("Proposer").click()
    chooser.page.get_by_role("option", name="full-model").click()
    chooser.page.wait_for_function("document.querySelector('.sp-knob-notes').innerText.includes('cannot beat greedy')")


def test_an_example_fills_the_prompt(chooser):
    chooser.page.get_by_role("button", name="Python code").click()
    chooser.page.wait_for_function("document.querySelector('#spork-prompt textarea').value.includes('palindrome')")
