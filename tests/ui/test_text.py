"""The page's words: one table, all used, and no word missing."""

import re
from pathlib import Path

import pytest

from ui.components import ASSETS, MASTHEAD_SCRIPTS, NOTES_SCRIPTS, VIEW_SCRIPTS, script, style
from ui.text import PAGE, VIEW

SCRIPTS = sorted((ASSETS / "js").glob("*.js"))
USED = {name for path in SCRIPTS for name in re.findall(r"TEXT\.(\w+)", path.read_text(encoding="utf-8"))}


def test_every_word_a_script_names_is_there():
    assert USED and not USED - set(VIEW)


def test_every_word_python_names_is_there():
    ui = Path(__file__).resolve().parents[2] / "ui"
    named = {name for path in ui.glob("*.py") for name in re.findall(r'PAGE\["(\w+)"\]', path.read_text(encoding="utf-8"))}
    assert named <= set(PAGE)


@pytest.mark.parametrize("prefix", ["why_", "status_", "legend_", "cost_", "badge_", "done_", "chip_"])
def test_words_picked_by_a_value_are_there(prefix):
    wanted = {
        "why_": "accepted bonus fallback", "status_": "accepted rejected bonus fallback",
        "legend_": "accepted bonus fallback", "cost_": "propose verify select other",
        "badge_": "live recorded loaded", "done_": "eos length stop context cancelled error",
        "chip_": "accepted fallback",
    }[prefix]  # fmt: skip
    assert not {prefix + word for word in wanted.split()} - set(VIEW)


def test_every_script_is_on_the_page():
    listed = set(VIEW_SCRIPTS) | set(MASTHEAD_SCRIPTS) | set(NOTES_SCRIPTS)
    assert {path.stem for path in SCRIPTS} == listed


def test_facts_cannot_end_a_script():
    assert "</script>" not in script(("format",), {"name": "</script><script>alert(1)</script>"})


def test_nothing_on_the_page_asks_another_host():
    sources = [path.read_text(encoding="utf-8") for path in SCRIPTS] + [style()]
    for source in sources:
        urls = re.findall(r"https?://[^\s\"')]+", source)
        assert not [url for url in urls if "w3.org" not in url]
        assert "@import" not in source


def test_no_script_makes_html_out_of_text():
    for path in SCRIPTS:
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", path.read_text(encoding="utf-8"))
