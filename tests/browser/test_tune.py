"""The sweep as heat maps, its files, and another tau on the run in Live."""

import csv
import json

import pytest


@pytest.fixture
def swept(new_visit):
    """A visitor whose sweep of four cells is over."""
    visit = new_visit().open("?prompt=Say%20hello.#tune")
    page = visit.page
    for name, drop in (("K", ("4", "8")), ("M", ("3", "5"))):
        for value in drop:
            page.get_by_role("group", name=name, exact=True).get_by_label(value, exact=True).uncheck()
    page.get_by_label("New tokens a run").fill("8")
    assert "4 cells" in visit.text(".spork-tune")
    page.get_by_role("button", name="Sweep").click()
    page.get_by_text("All cells measured (4)").wait_for(timeout=90_000)
    visit.wait_idle()
    return visit


def saved(page, kind, path):
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Save as {kind}").click()
    download.value.save_as(path)
    return path.read_text(encoding="utf-8")


def test_cells_show_figures_apply_and_go_into_files(swept, tmp_path):
    page = swept.page
    cells = page.locator("button.sp-cell")
    assert cells.count() == 4
    assert all("×" in text for text in cells.all_inner_texts())
    page.get_by_text("tokens/round", exact=True).locator("visible=true").last.click()
    assert all("×" not in text for text in page.locator("button.sp-cell").all_inner_texts())

    rows = list(csv.DictReader(saved(page, "CSV", tmp_path / "sweep.csv").splitlines()))
    assert {(row["k"], row["m"]) for row in rows} == {("1", "0"), ("1", "1"), ("2", "0"), ("2", "1")}
    assert {row["identical"] for row in rows} == {"true"}
    whole = json.loads(saved(page, "JSON", tmp_path / "sweep.json"))
    assert whole["prompts"] == ["Say hello."] and len(whole["cells"]) == 4
    assert whole["finished"]["reason"] == "done" and whole["started"]["config"]["budget"] == "full"

    page.get_by_role("button", name="K 2, M 1").click()
    page.wait_for_function("document.querySelector('#spork-k input[type=number]').value === '2'")
    assert page.locator("#spork-m input[type=number]").input_value() == "1"
    assert "are now 2, 1 and 1.00" in swept.text(".spork-tune")


def test_stop_keeps_what_was_measured(new_visit):
    visit = new_visit().open("#tune")
    page = visit.page
    page.get_by_role("button", name="Sweep").click()
    page.locator("button.sp-cell").first.wait_for(timeout=90_000)
    visit.stop()
    visit.wait_idle()
    assert "Stopped" in visit.text(".spork-tune")
    assert page.locator("button.sp-cell").count() >= 1
    assert page.get_by_role("button", name="Save as CSV").is_enabled()


@pytest.fixture(scope="module")
def tuner(shared_visits):
    """A visitor in Tune who has swept nothing."""
    return shared_visits().open("#tune")


def test_an_empty_choice_is_said(tuner):
    for value in ("1", "2", "4", "8"):
        tuner.page.get_by_role("group", name="K", exact=True).get_by_label(value, exact=True).uncheck()
    tuner.page.get_by_role("button", name="Sweep").click()
    tuner.page.get_by_text("the sweep has no value for k").first.wait_for(timeout=60_000)
    tuner.wait_idle()


def test_another_tau_is_exact_up_to_the_first_flip(tuner):
    page = tuner.page
    page.get_by_text("No round of").wait_for()
    slider = page.get_by_role("slider", name="tau to try on the recorded run")
    slider.focus()
    page.keyboard.press("Home")
    assert "Exact up to round" in tuner.text(".sp-what-if-words") and "estimate" in tuner.text(".sp-what-if-words")
    assert page.locator(".sp-what-if-strip .is-flipped").count() > 0
    assert page.locator(".sp-what-if-strip .is-estimate").count() > 0
    page.keyboard.press("End")
    assert page.locator(".sp-what-if-strip .is-flipped").count() == 0
