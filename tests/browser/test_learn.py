"""The tour, by keyboard and with no model asked."""

import pytest


@pytest.fixture(scope="module")
def learner(shared_visits):
    return shared_visits().open("#learn")


def test_the_whole_tour_by_keyboard(new_visit):
    visit = new_visit().open("#learn")
    page = visit.page
    assert not page.locator("#spork-prompt").is_visible() and not page.locator("#spork-knobs").is_visible()
    titles = []
    for n in range(1, 9):
        assert visit.text(".sp-lesson-count") == f"{n} of 8"
        titles.append(visit.text(".sp-lesson h2"))
        if n in (3, 5):
            page.get_by_role("radio").last.focus()
            page.keyboard.press("Space")
            page.get_by_role("button", name="Check").press("Enter")
            answer = visit.text(".sp-lesson-result")
            assert answer.startswith("Right.") == (n == 5), answer
        if n in (2, 3, 4, 5, 7):
            page.wait_for_selector(".sp-lesson .sp-plot .main-svg")
        if n < 8:
            page.get_by_role("button", name="Next", exact=True).press("Enter")
            assert page.evaluate("document.activeElement.id") == "sp-lesson-title"
    assert len(set(titles)) == 8
    assert "How this was measured" in visit.text(".sp-lesson")
    page.get_by_role("button", name="Race your own prompt").press("Enter")
    assert page.get_by_role("tab", name="Race").get_attribute("aria-selected") == "true"
    assert page.evaluate("document.activeElement.id") == "sp-tab-race"


def test_nothing_is_given_away_before_the_answer(learner):
    page = learner.page
    page.get_by_role("button", name="3. ").click()
    page.wait_for_selector(".sp-lesson .sp-plot .main-svg")
    drawn = page.locator(".sp-lesson .sp-plot").text_content()
    assert "tau" not in drawn and "✓" not in drawn
    assert page.get_by_role("button", name="Check").is_disabled()
    page.get_by_role("radio").first.check()
    page.get_by_role("button", name="Check").click()
    page.wait_for_function("document.querySelector('.sp-lesson .sp-plot').textContent.includes('✓')")


def test_the_arithmetic_follows_the_visitors_own_k_and_m(learner):
    page = learner.page
    page.get_by_role("button", name="6. ").click()
    page.get_by_role("slider", name="M, more tokens").focus()
    page.keyboard.press("End")
    assert "9 passes one after another" in learner.text(".sp-lesson-result")
    page.get_by_role("slider", name="K, forks").focus()
    page.keyboard.press("Home")
    assert "up to 9 tokens" in learner.text(".sp-lesson-result")
    width = "i => document.querySelectorAll('.sp-lesson .sp-bar-fill')[i].getBoundingClientRect().width"
    one_pass, model_draft, cheap_pass, cheap_draft = (page.evaluate(width, i) for i in range(4))
    assert one_pass == cheap_pass and 0 < cheap_draft < one_pass / 2, "what the cheap draft took is drawn beside its pass"
    assert model_draft > 8.9 * one_pass


def test_tau_is_tried_on_the_round_that_fell_back(learner):
    page = learner.page
    page.get_by_role("button", name="7. ").click()
    assert "falls back" in learner.text(".sp-lesson-result")
    page.get_by_role("slider", name="tau").focus()
    page.keyboard.press("Home")
    assert "would be accepted" in learner.text(".sp-lesson-result")
