"""Scrubbing, stepping, playing, and traces coming in and going out."""

import json

import pytest

from spork.events import dumps, parse_trace
from tests.ui.fakes import finished, node, round_, started

HOSTILE = "<img src=x onerror=\"document.body.dataset.owned='yes'\">${document.body.dataset.owned='yes'}{{value}}</script>"


def write(path, events):
    path.write_text("\n".join(map(dumps, events)) + "\n", encoding="utf-8")
    return path


def at(visit) -> int:
    return int(visit.slider.get_attribute("aria-valuenow"))


@pytest.fixture(scope="module")
def reader(shared_visits):
    """A visitor reading the run the page opens on."""
    return shared_visits().open()


def test_the_strip_is_a_slider(reader):
    last = int(reader.slider.get_attribute("aria-valuemax"))
    reader.slider.focus()
    reader.page.keyboard.press("Home")
    assert at(reader) == 1
    reader.page.keyboard.press("ArrowRight")
    assert at(reader) == 2
    assert reader.round_title == f"Round 2 of {last}"
    assert "Round 2 of" in reader.slider.get_attribute("aria-valuetext")
    assert reader.page.locator(".spork-view .sp-said").text_content().startswith("Round 2")
    reader.page.keyboard.press("End")
    assert at(reader) == last


def test_dragging_scrubs(reader):
    reader.slider.scroll_into_view_if_needed()
    box = reader.slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    reader.page.mouse.move(box["x"] + 3, middle)
    reader.page.mouse.down()
    assert at(reader) == 1
    reader.page.mouse.move(box["x"] + box["width"] / 2, middle, steps=4)
    reader.page.mouse.up()
    last = int(reader.slider.get_attribute("aria-valuemax"))
    assert abs(at(reader) - last / 2) < 3
    assert reader.page.locator(".sp-token.is-later").count() > 0


def test_step_and_play(reader):
    reader.slider.focus()
    reader.page.keyboard.press("Home")
    reader.page.get_by_role("button", name="Step forward").click()
    assert at(reader) == 2
    reader.page.get_by_role("button", name="Step back").click()
    assert at(reader) == 1
    reader.page.get_by_text("2×", exact=True).click()
    reader.page.get_by_role("button", name="Play").click()
    reader.page.wait_for_function("+document.querySelector('.sp-strip').getAttribute('aria-valuenow') >= 4")
    reader.page.get_by_role("button", name="Pause").click()
    stands = at(reader)
    reader.page.wait_for_timeout(700)
    assert at(reader) == stands


def test_gauges_show_the_figures_recorded_at_the_round(visit, tmp_path):
    events = [started(), round_(0), round_(1), finished(2)]
    events[1].running["tokens_per_s"] = 11.5
    visit.upload(write(tmp_path / "run.jsonl", events))
    visit.page.wait_for_function("document.querySelector('.sp-badge').innerText.includes('loaded')")
    visit.slider.focus()
    visit.page.keyboard.press("Home")
    assert visit.text(".sp-big >> nth=0") == "11.5"
    visit.page.keyboard.press("End")
    assert visit.text(".sp-big >> nth=0") == "20.0"
    assert "not paired" in visit.text(".sp-panel.is-gauges")


def test_a_token_shows_its_round_and_a_node_its_numbers(visit, tmp_path):
    visit.upload(write(tmp_path / "run.jsonl", [started(), round_(0, " alpha", " gamma"), round_(1, " beta"), finished(2)]))
    visit.page.locator(".spork-view .sp-token", has_text="beta").click()
    assert visit.round_title == "Round 2 of 2"
    visit.page.locator(".spork-view .sp-token", has_text="alpha").hover()
    visit.page.wait_for_function("document.querySelector('.sp-panel.is-tree h2').textContent.startsWith('Round 1')")
    visit.page.locator(".spork-view .sp-token", has_text="alpha").click()
    visit.page.get_by_role("group", name="Fork tree").focus()
    visit.page.keyboard.press("ArrowRight")
    assert visit.text(".sp-node-token") == "␣alpha"
    visit.page.keyboard.press("ArrowDown")
    assert visit.text(".sp-node-token") == "␣gamma"
    facts = visit.text(".sp-node")
    assert "0.250" in facts and "below tau 1.00" in facts and "102" in facts
    visit.page.locator(".sp-table summary").click()
    assert visit.page.locator(".sp-table tbody tr").count() == 3


def test_pointing_at_a_node_shows_its_numbers(visit, tmp_path):
    visit.upload(write(tmp_path / "run.jsonl", [started(), round_(0, " alpha"), finished(1)]))
    visit.page.wait_for_function("document.querySelector('.sp-plot').textContent.includes('␣alpha')")
    points = visit.page.locator(".sp-plot .scatterlayer .points path")
    boxes = [points.nth(i).bounding_box() for i in range(points.count())]
    target = sorted((b for b in boxes if b), key=lambda b: b["x"])[1]
    visit.page.mouse.move(target["x"] + target["width"] / 2, target["y"] + target["height"] / 2)
    visit.page.wait_for_function("document.querySelector('.sp-node-token').textContent !== ''")


def test_hostile_text_stays_inert(visit, tmp_path):
    bad = round_(0, HOSTILE, HOSTILE)
    bad.reason, bad.root_text = HOSTILE, HOSTILE
    begin = started()
    begin.prompt = begin.model = HOSTILE
    begin.config["verifier"] = "__proto__"
    visit.upload(write(tmp_path / "hostile.jsonl", [begin, bad, finished(1)]))
    visit.page.wait_for_function("document.querySelector('.sp-badge').innerText.includes('loaded')")
    visit.page.locator(".sp-table summary").click()
    visit.page.get_by_role("group", name="Fork tree").focus()
    visit.page.keyboard.press("ArrowRight")
    visit.page.wait_for_timeout(400)
    assert visit.page.evaluate("document.body.dataset.owned") is None
    assert visit.page.locator(".spork-view img").count() == 0
    assert HOSTILE in visit.page.locator(".sp-flow").text_content()
    assert visit.text(".sp-reason") == HOSTILE


BAD = {
    "not a trace": "not JSON",
    "": "empty",
    dumps(started()).replace('"schema":1', '"schema":99'): "newer",
    dumps(started()) + "\n" + dumps(round_(0)).replace('"parent":0', '"parent":44'): "no parent",
}


def test_a_bad_trace_is_said_and_the_page_keeps_working(visit, tmp_path):
    before = visit.round_title
    for number, (text, words) in enumerate(BAD.items()):
        path = tmp_path / f"bad-{number}.jsonl"
        path.write_text(text, encoding="utf-8")
        visit.upload(path)
        if text:
            visit.page.get_by_text(words).first.wait_for()
        else:
            visit.page.wait_for_timeout(500)
        assert visit.round_title == before
    visit.upload(write(tmp_path / "good.jsonl", [started(), round_(0), finished(1)]))
    visit.page.wait_for_function("document.querySelector('.sp-badge').innerText.includes('loaded')")


def test_a_saved_trace_is_the_run_as_it_came(visit, tmp_path):
    visit.generate("Say hello.")
    visit.wait_live(1)
    visit.wait_idle()
    with visit.page.expect_download() as download:
        visit.page.get_by_role("button", name="Save trace").click()
    path = tmp_path / "saved.jsonl"
    download.value.save_as(path)
    events = parse_trace(path.read_text(encoding="utf-8"))
    assert events[0].prompt == "Say hello." and events[-1].event == "run_finished"
    assert "".join(e.text for e in events[1:-1]) == events[-1].text
    assert all(json.loads(line)["event"] for line in path.read_text(encoding="utf-8").splitlines())
    visit.upload(path)
    visit.page.wait_for_function("document.querySelector('.sp-badge').innerText.includes('loaded')")


def test_a_trace_without_rounds_or_end_is_shown(visit, tmp_path):
    visit.upload(write(tmp_path / "cut.jsonl", [started()]))
    visit.page.wait_for_function("document.querySelector('.sp-badge').innerText.includes('loaded')")
    assert visit.page.locator(".spork-view .sp-token").count() == 0
    lonely = round_(0)
    lonely.nodes, lonely.forks, lonely.chosen, lonely.decision = [node(1, 0, 1, " a", "fallback")], [], None, "fallback"
    visit.upload(write(tmp_path / "lonely.jsonl", [started(), lonely]))
    visit.page.wait_for_function("document.querySelectorAll('.sp-token').length > 0")
    assert "no draft" in visit.text(".sp-chip")
