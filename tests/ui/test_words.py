"""The page's words: one table, all used, and no word missing."""

import re
from pathlib import Path

import pytest

from ui.components import ASSETS, SCRIPTS as ON_PAGE, script, style
from ui.words import LANGUAGES
from ui.words.english import LABELS, MESSAGES, VIEW

SCRIPTS = sorted((ASSETS / "js").rglob("*.js"))
USED = {name for path in SCRIPTS for name in re.findall(r"TEXT\.(\w+)", path.read_text(encoding="utf-8"))}


def test_every_word_a_script_names_is_there():
    assert USED and not USED - set(VIEW)


def test_every_word_python_names_is_there():
    ui = Path(__file__).resolve().parents[2] / "ui"
    for table, pattern in ((LABELS, r'label\("(\w+)"\)'), (MESSAGES, r'(?:message|Refusal)\("(\w+)"')):
        named = {name for path in ui.glob("*.py") for name in re.findall(pattern, path.read_text(encoding="utf-8"))}
        assert named and named <= set(table)


@pytest.mark.parametrize("prefix", ["why_", "status_", "legend_", "cost_", "badge_", "done_", "chip_"])
def test_words_picked_by_a_value_are_there(prefix):
    wanted = {
        "why_": "accepted bonus fallback", "status_": "accepted rejected bonus fallback",
        "legend_": "accepted bonus fallback", "cost_": "propose verify select other",
        "badge_": "live recorded loaded raced", "done_": "eos length stop context cancelled error",
        "chip_": "accepted fallback",
    }[prefix]  # fmt: skip
    assert not {prefix + word for word in wanted.split()} - set(VIEW)


def test_every_script_is_on_the_page():
    listed = {name for names in ON_PAGE.values() for name in names}
    assert {path.relative_to(ASSETS / "js").with_suffix("").as_posix() for path in SCRIPTS} == listed


def test_facts_cannot_end_a_script():
    assert "</script>" not in script(("shared/format",), {"name": "</script><script>alert(1)</script>"})


def test_nothing_on_the_page_asks_another_host():
    sources = [path.read_text(encoding="utf-8") for path in SCRIPTS] + [style()]
    for source in sources:
        urls = re.findall(r"https?://[^\s\"')]+", source)
        assert not [url for url in urls if "w3.org" not in url]
        assert "@import" not in source


def test_no_script_makes_html_out_of_text():
    for path in SCRIPTS:
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {"en"}))
@pytest.mark.parametrize("table", ["LABELS", "MESSAGES", "VIEW"])
def test_every_language_says_everything_and_fills_in_the_same_values(language, table):
    english, other = getattr(LANGUAGES["en"], table), getattr(LANGUAGES[language], table)
    assert set(other) == set(english)
    for key, words in english.items():
        if words:
            assert other[key].strip(), key
            assert set(re.findall(r"{(\w+)", other[key])) == set(re.findall(r"{(\w+)", words)), key
