"""Links that carry the settings, pictures, tabs by keyboard, and the page in Chinese."""

import itertools
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

from spork.events import dumps
from tests.ui.fakes import finished, round_, started


def value(visit, name):
    return visit.page.locator(f"#spork-{name} input[type=number]").input_value()


def test_a_link_carries_prompt_settings_and_tab(new_visit):
    visit = new_visit().open("?k=7&m=2&tau=0.85&proposer=lookup&prompt=Hello%20%3Cb%3E%20you&max_new_tokens=17#tune")
    page = visit.page
    page.wait_for_function("document.querySelector('#spork-k input[type=number]').value === '7'")
    assert (value(visit, "m"), value(visit, "tau")) == ("2", "0.85")
    page.get_by_role("button", name="More settings").click()
    assert value(visit, "max-new-tokens") == "17"
    assert page.get_by_label("Prompt", exact=True).input_value() == "Hello <b> you"
    assert page.get_by_role("tab", name="Tune").get_attribute("aria-selected") == "true"
    page.get_by_role("button", name="Share link").click()
    page.wait_for_function("location.search.includes('verifier=')")
    shared = parse_qs(urlsplit(page.url).query)
    assert shared["k"] == ["7"] and shared["proposer"] == ["lookup"] and shared["prompt"] == ["Hello <b> you"]
    assert urlsplit(page.url).fragment == "tune"
    second = new_visit().open(f"?{urlsplit(page.url).query}")
    second.page.wait_for_function("document.querySelector('#spork-k input[type=number]').value === '7'")
    assert second.page.get_by_label("Proposer").input_value() == "lookup"


def test_what_a_link_may_not_say_is_left_out(new_visit):
    bad = "?k=99&m=-1&tau=nan&proposer=__proto__&max_new_tokens=1e9&seed=1.5&verifier=%3Cscript%3E&temperature=&model=x"
    visit = new_visit().open(bad)
    visit.page.wait_for_timeout(1500)
    assert (value(visit, "k"), value(visit, "m"), value(visit, "tau")) == ("4", "3", "1")
    assert visit.page.get_by_label("Proposer").input_value() == "auto"
    visit.generate("Say hello.")
    visit.wait_live(1)
    visit.wait_idle()


def test_pictures_are_saved(visit, tmp_path):
    heads = {"SVG": b"<svg", "PNG": b"\x89PNG"}
    for part, kind in itertools.product(("this tree", "these figures"), heads):
        with visit.page.expect_download() as download:
            visit.page.get_by_role("button", name=f"Save {part} as {kind}").click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        assert path.suffix == f".{kind.lower()}" and path.read_bytes().startswith(heads[kind])


def test_a_picture_of_what_xml_cannot_write_is_still_one(visit, tmp_path):
    begin, drawn = started(), round_(0, "\x00\uffff<b>")
    begin.prompt = "\x1b[31m \x01 & <i>"
    path = tmp_path / "odd.jsonl"
    path.write_text("\n".join(map(dumps, (begin, drawn, finished(1)))), encoding="utf-8")
    visit.upload(path)
    visit.page.wait_for_function("document.querySelector('.sp-badge').innerText.includes('loaded')")
    for part in ("this tree", "these figures"):
        with visit.page.expect_download() as download:
            visit.page.get_by_role("button", name=f"Save {part} as SVG").click()
        download.value.save_as(tmp_path / "odd.svg")
        assert ElementTree.parse(tmp_path / "odd.svg").getroot().tag.endswith("svg")
        with visit.page.expect_download() as download:
            visit.page.get_by_role("button", name=f"Save {part} as PNG").click()


def test_tabs_are_walked_with_the_arrow_keys(visit):
    page = visit.page
    page.get_by_role("tab", name="Live").focus()
    for name in ("Race", "Tune", "Learn", "Live"):
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.innerText") == name
        panel = page.get_by_role("tabpanel", name=name)
        assert panel.is_visible() and page.get_by_role("tabpanel").count() == 1
    assert page.get_by_role("tab", selected=True).count() == 1


def test_a_chinese_browser_gets_a_chinese_page_and_may_switch(new_visit):
    visit = new_visit(locale="zh-CN").open()
    page = visit.page
    assert page.get_by_role("button", name="生成").is_visible() and "K · 每轮分叉数" in visit.text("#spork-knobs")
    assert page.get_by_role("tab", name="赛跑").is_visible()
    assert "分叉" in visit.text(".sp-reason") or "模型自己" in visit.text(".sp-reason")
    assert page.evaluate("document.documentElement.lang").startswith("zh")
    page.get_by_label("提示词", exact=True).fill("   ")
    page.get_by_role("button", name="生成").click()
    page.get_by_text("提示词是空的").first.wait_for()
    page.get_by_role("button", name="Switch the page to English").click()
    page.get_by_role("button", name="Generate").wait_for()
    assert page.evaluate("document.documentElement.lang") == "en"
    page.reload()
    page.get_by_role("button", name="Generate").wait_for()
    visit.forgive_reload()


def test_an_english_browser_may_switch_to_chinese_and_keeps_its_settings(new_visit):
    visit = new_visit(locale="en-GB").open("?k=6#learn")
    visit.page.get_by_role("button", name="把页面换成中文").click()
    visit.page.get_by_role("tab", name="学习").wait_for()
    assert "语言模型" in visit.text(".sp-lesson h2")
    assert visit.page.locator("#spork-generate").text_content().strip() == "生成" and visit.page.get_by_label("提示词", exact=True).count() == 1
    visit.forgive_reload()
    visit.page.get_by_role("tab", name="实时").click()
    assert value(visit, "k") == "6"


def test_a_switch_of_language_keeps_the_run(new_visit, tmp_path):
    # The choice stays in the browser, so in one that no other English test uses.
    visit = new_visit(locale="en-GB").open("?lang=en")
    begin = started()
    begin.prompt = "kept through the switch"
    path = tmp_path / "kept.jsonl"
    path.write_text("\n".join(map(dumps, (begin, *(round_(i) for i in range(3)), finished(3)))), encoding="utf-8")
    visit.upload(path)
    visit.page.wait_for_function("document.querySelector('.sp-badge').classList.contains('is-loaded')")
    visit.page.get_by_role("button", name="把页面换成中文").click()
    visit.page.get_by_role("tab", name="学习").wait_for()
    visit.forgive_reload()
    visit.page.wait_for_function("document.querySelector('.sp-flow-prompt').textContent === 'kept through the switch'")
    assert visit.slider.count() == 0 and visit.page.locator(".sp-strip").get_attribute("aria-valuemax") == "3"
    visit.page.reload()
    visit.page.get_by_role("tab", name="学习").wait_for()
    visit.forgive_reload()
    assert visit.text(".sp-flow-prompt") != "kept through the switch", "it is kept through one reload only"
