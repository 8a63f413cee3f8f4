"""Each printable key in each place: no file changes without a dialog that names what would change."""

from __future__ import annotations

import string
from hashlib import sha256
from pathlib import Path

import pytest

from sessionbrowse.tui.commands.command import key_name
from sessionbrowse.tui.dialogs.dialogs import Dialog
from tests.support.tui_support import Driven, browsing, demo_options

PLACES = {
    "sessions": "g down",
    "projects": "left g down",
    "preview": "g down right",
    "tree": "g down enter g down",
    "view": "g down enter g down enter",
    "labels": "apostrophe",
    "cost": "dollar_sign",
    "problems": "exclamation_mark",
    "clean-up": "run:cleanup",
    "search line": "slash",
    "search line of the projects": "left slash",
    "search line of a tree": "g down enter slash",
    "help": "question_mark",
    "palette": "colon",
}
"""By place: the keys that lead there from the list of sessions."""
LEAVING = "q"
KEYS = [key for key in string.printable if key.isprintable() and key != LEAVING]
CHANGING = "acmeibsw"
"""Letters of the actions menu that change something, or make a file."""


def files(root: Path) -> dict[str, str]:
    """Return the digest of each file of the store, but for the browser's own, such as pins."""
    found = [path for path in root.rglob("*") if path.is_file() and ".local" not in path.parts]
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in found}


async def go(browser: Driven, keys: str) -> None:
    """Press keys, and run commands of the palette, as `run:cleanup`."""
    for key in keys.split():
        await (browser.run(key[4:]) if key.startswith("run:") else browser.press(key))


async def come_back(browser: Driven) -> None:
    """Go back to the list of sessions, whatever a key has opened."""
    for _ in range(9):
        screen = browser.app.screen
        if screen.name == "browse" and screen.pane == "sessions" and not screen.typing:  # type: ignore[attr-defined]
            return
        await browser.press("escape")
    raise AssertionError(f"Escape does not lead back from {browser.screen_name}")


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
async def test_no_key_changes_a_file_without_a_dialog(tmp_path: Path, place: str) -> None:
    options = demo_options(tmp_path / "demo") | {"environ": {"PATH": "", "HOME": str(tmp_path)}, "size": (140, 50)}
    before = files(tmp_path / "demo")
    async with browsing(**options, demo=str(tmp_path / "state")) as browser:
        for key in KEYS:
            await come_back(browser)
            await go(browser, PLACES[place])
            await browser.press(key_name(key))
            assert files(tmp_path / "demo") == before, f"{key} changed a file"


@pytest.mark.slow
@pytest.mark.parametrize("place", ["sessions", "tree"])
@pytest.mark.parametrize("letter", sorted(CHANGING))
async def test_each_letter_of_the_actions_menu_asks_before_it_changes(tmp_path: Path, place: str, letter: str) -> None:
    options = demo_options(tmp_path / "demo") | {"environ": {"PATH": "", "HOME": str(tmp_path)}, "size": (140, 50)}
    before = files(tmp_path / "demo")
    async with browsing(**options, demo=str(tmp_path / "state")) as browser:
        await go(browser, PLACES[place])
        await browser.press("x", letter)
        assert files(tmp_path / "demo") == before
        top = browser.app.screen
        if isinstance(top, Dialog):
            assert any(name in browser.screen_text() for name in ("Refactor", "webshop", "I look at the module")), (
                browser.screen_text()
            )
