"""axe-core on every tab, in light, dark and on a phone: no serious or critical finding."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from .conftest import DESK, PHONE

LOOKS = {
    "light": {"viewport": DESK, "color_scheme": "light"},
    "dark": {"viewport": DESK, "color_scheme": "dark"},
    "phone": {"viewport": PHONE, "color_scheme": "light"},
}


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_serious(new_visit, look):
    visit = new_visit(**LOOKS[look]).open()
    page = visit.page
    page.get_by_role("button", name="More settings").click()
    found = []
    for tab in ("Live", "Race", "Tune", "Learn"):
        page.get_by_role("tab", name=tab).click()
        page.wait_for_timeout(400)
        for finding in Axe().run(page).response["violations"]:
            if finding["impact"] in ("serious", "critical"):
                found.append((tab, finding["id"], [node["html"][:160] for node in finding["nodes"]][:4]))
    assert found == []
