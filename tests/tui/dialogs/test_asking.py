"""A question with answers below: a list that does not fit says how much of it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tui_support import browsing, demo_options


@pytest.mark.parametrize(("height", "told"), [(20, "14 of 18 shown · ⏎ choose"), (40, "─ ⏎ choose")])
async def test_a_menu_that_does_not_fit_says_how_much_of_it_is_shown(tmp_path: Path, height: int, told: str) -> None:
    async with browsing(size=(60, height), **demo_options(tmp_path)) as browser:
        await browser.press("x")
        assert told in browser.screen_text()
