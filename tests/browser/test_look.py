"""Narrow, dark and keyboard-only: what must hold however one looks at the page."""

import pytest

from .conftest import DESK, PHONE


@pytest.fixture(scope="module", params=["light", "dark"])
def scheme(request):
    return request.param


@pytest.fixture(scope="module")
def themed(shared_visits, scheme):
    """A visitor on a phone whose system is light or dark."""
    return shared_visits(viewport=PHONE, color_scheme=scheme).open()


def test_no_horizontal_overflow(themed, scheme):
    page = themed.page
    assert page.evaluate("document.body.classList.contains('dark')") == (scheme == "dark")
    for width in (390, 768, 1440):
        page.set_viewport_size({"width": width, "height": 844})
        for _ in range(2):  # with more settings shut and open, or the other way round
            page.wait_for_timeout(200)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.get_by_role("button", name="More settings").click()
        for tab in ("Race", "Tune", "Learn", "Live"):
            page.get_by_role("tab", name=tab).click()
            page.wait_for_timeout(200)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (tab, width)


def test_a_narrow_tree_runs_top_to_bottom(themed):
    def beyond_root():
        """How far left of and above the nearest of the others the root stands."""
        root, *others = [b for p in themed.page.locator(".sp-plot .scatterlayer .points path").all() if (b := p.bounding_box())]
        return min(b["x"] for b in others) - root["x"], min(b["y"] for b in others) - root["y"]

    themed.page.set_viewport_size(PHONE)
    themed.page.wait_for_timeout(500)
    left, above = beyond_root()
    assert above > 30 > left
    themed.page.set_viewport_size(DESK)
    themed.page.wait_for_timeout(500)
    left, above = beyond_root()
    assert left > 30 > above


def test_the_switch_turns_dark_and_redraws_the_tree(visit):
    edge = "getComputedStyle([...document.querySelectorAll('.sp-plot .scatterlayer .trace path.js-line')].pop()).stroke"
    before = visit.page.evaluate(edge)
    visit.page.get_by_role("button", name="Switch between light and dark").click()
    visit.page.wait_for_function(f"{edge} !== {before!r}")


def contrast(a: str, b: str) -> float:
    def light(colour):
        parts = [int(p) / 255 for p in colour.removeprefix("rgb(").removesuffix(")").split(",")]
        parts = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    high, low = sorted((light(a), light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_text_can_be_read(themed):
    pairs = themed.page.evaluate(
        """() => {
          const style = getComputedStyle(document.body), probe = document.createElement('i');
          document.body.append(probe);
          const rgb = (name) => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };
          const text = [['ink','paper'],['ink','surface'],['muted','paper'],['muted','surface'],['ink','accepted-tint'],
            ['ink','fallback-tint'],['fallback-ink','surface'],['bonus-ink','surface'],['select-ink','select'],
            ['action-ink','action'],['good','surface'],['muted','hover']];
          return text.map(([a, b]) => [a, b, rgb(a), rgb(b)]);
        }"""
    )
    for name, ground, a, b in pairs:
        assert contrast(a, b) >= 4.5, (name, ground, a, b)


@pytest.fixture(scope="module")
def onlooker(shared_visits):
    """A visitor at a desk who touches nothing."""
    return shared_visits().open()


def test_every_control_has_a_name_and_can_be_reached(onlooker):
    nameless = onlooker.page.evaluate(
        """() => [...document.querySelectorAll('button, input, textarea, select, [role=slider], [tabindex="0"]')]
          .filter((n) => n.offsetParent !== null && n.type !== 'file')
          .filter((n) => !(n.getAttribute('aria-label') || n.getAttribute('aria-labelledby') || n.textContent.trim()
            || (n.labels && n.labels.length && n.labels[0].textContent.trim()) || n.placeholder || n.title))
          .map((n) => n.outerHTML.slice(0, 200))"""
    )
    assert nameless == []
    reached = set()
    onlooker.page.get_by_label("Prompt", exact=True).focus()
    for _ in range(45):
        onlooker.page.keyboard.press("Tab")
        reached.add(
            onlooker.page.evaluate(
                "(() => { const n = document.activeElement; return n.getAttribute('aria-label') || n.innerText || n.type || ''; })()"
            )
        )
    for name in ("Generate", "Round", "Step forward", "Save trace", "More settings"):
        assert any(name in (got or "") for got in reached), (name, reached)


def test_only_one_region_speaks(onlooker):
    regions = onlooker.page.locator(".spork-view [aria-live=polite], .spork-view [role=status], .spork-view [role=log]")
    assert regions.count() == 1


def test_nothing_moves_by_itself(onlooker):
    """No animation runs while the page stands still, so none runs beside the engine either."""
    onlooker.page.wait_for_timeout(500)
    assert onlooker.page.evaluate("document.getAnimations().filter((a) => a.playState === 'running').length") == 0


def test_no_script_is_awake_on_every_frame(new_visit):
    visit = new_visit()
    visit.page.add_init_script(
        "window.frames_asked = 0; const next = window.requestAnimationFrame;"
        "window.requestAnimationFrame = (f) => { window.frames_asked++; return next.call(window, f); };"
    )
    visit.open()
    # Gradio's opening transitions last a few seconds on a slow machine; after them, stillness.
    for _ in range(10):
        visit.page.evaluate("window.frames_asked = 0")
        visit.page.wait_for_timeout(2000)
        asked = visit.page.evaluate("window.frames_asked")
        if asked < 12:
            return
    raise AssertionError(f"{asked} animation frames were asked for in two quiet seconds")
