"""The mark of the leaf: it shows where the agent resumes, also if the leaf itself has no row."""

from __future__ import annotations

from pathlib import Path

from tests.support.tui_support import browsing, demo_options


async def test_the_leaf_is_marked_at_its_nearest_row_after_a_label(tmp_path: Path) -> None:
    async with browsing(**demo_options(tmp_path / "demo")) as browser:
        await browser.go_into("Refactor auth")
        before = next(row for row in browser.rows("#tree") if "← leaf" in row)
        await browser.press("g", "L")
        await browser.type("mark")
        await browser.press("enter")
        marked = [row for row in browser.rows("#tree") if "← leaf" in row]
        assert len(marked) == 1
        assert marked[0].split("•")[1] == before.split("•")[1]
        # The label is an entry without a row of its own; with all rows shown it carries the mark itself.
        await browser.press("5")
        assert "label" in next(row for row in browser.rows("#tree") if "← leaf" in row)
