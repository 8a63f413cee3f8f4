"""Make what the README shows: pictures of the screens on the demo store, and the table of keys.

`make screenshots` runs it. The pictures depend on nothing but the program: the store, its place and its time are fixed.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from sessionbrowse.tui.keymap import key_table
from tests.search_support import index_of, searched_source
from tests.tui_support import Driven, browsing, demo_options

ROOT = Path(__file__).resolve().parents[1]
STORE = Path("/tmp/sessionbrowse-screenshots")
"""Where the store is made: paths are part of the pictures."""

Hands = Callable[[Driven], Awaitable[None]]


def keys(*pressed: str) -> Hands:
    """Return hands that press keys; `text:…` types a text."""

    async def hands(browser: Driven) -> None:
        for key in pressed:
            await (browser.type(key[5:]) if key.startswith("text:") else browser.press(key))

    return hands


SHOTS: dict[str, tuple[tuple[int, int], str, Hands]] = {
    "browse": ((120, 40), "dark", keys("down")),
    "browse-light": ((120, 40), "light", keys("down")),
    "browse-high-contrast": ((120, 40), "high-contrast", keys("down")),
    "browse-80": ((80, 24), "dark", keys("down")),
    "browse-60": ((60, 20), "dark", keys("down")),
    "browse-200": ((200, 50), "dark", keys("down")),
    "threaded": ((100, 30), "dark", keys("ctrl+s", "down")),
    "filter": ((100, 30), "dark", keys("slash", "text:auth")),
    "session": ((120, 40), "dark", keys("down", "enter")),
    "session-light": ((120, 40), "light", keys("down", "enter")),
    "session-60": ((60, 20), "dark", keys("down", "enter")),
    "context": ((120, 40), "dark", keys("down", "enter", "tab")),
    "raw": ((120, 40), "dark", keys("down", "enter", "tab", "tab")),
    "diff": ((130, 40), "dark", keys("down", "enter", "D", "G")),
    "search": ((120, 40), "dark", keys("down", "enter", "slash", "text:cookie", "enter")),
    "delete": ((100, 30), "dark", keys("down", "space", "space", "space", "ctrl+d")),
    "moved": ((100, 30), "dark", keys("left", *["down"] * 7, "M")),
    "label": ((100, 30), "light", keys("down", "enter", "m")),
    "rename-60": ((60, 20), "high-contrast", keys("down", "ctrl+r")),
    "search-all": ((120, 36), "dark", keys("ctrl+f", "text:cookie", "down")),
    "search-all-60": ((60, 20), "dark", keys("ctrl+f", "text:cookie", "down")),
    "search-help": ((100, 30), "dark", keys("ctrl+f")),
    "checkpoints": ((120, 36), "dark", keys("apostrophe", "down")),
    "help": ((100, 34), "dark", keys("question_mark")),
    "palette": ((100, 30), "dark", keys("colon", "text:so")),
}
"""Name → size, theme, what is pressed."""


async def picture(name: str, store: Path = STORE) -> str:
    """Return the SVG of one screen."""
    size, theme, hands = SHOTS[name]
    options = demo_options(store, theme=theme)
    index_of(store, store.with_name(f"{store.name}-index"))
    source = searched_source(options, store, store.with_name(f"{store.name}-index"))
    async with browsing(source=source, size=size, **options) as browser:
        await hands(browser)
        browser.app.clear_notifications()
        await browser.settle()
        # Rich numbers the elements of each picture by a checksum that changes from run to run otherwise.
        return browser.app.export_screenshot(title="sessionbrowse", simplify=True)


def main(names: list[str]) -> None:
    """Write the pictures and the table of keys."""
    target = ROOT / "screenshots"
    target.mkdir(exist_ok=True)
    for name in names or SHOTS:
        remove_store()
        (target / f"{name}.svg").write_text(asyncio.run(picture(name)))
        print(f"screenshots/{name}.svg")
    remove_store()
    write_keys(ROOT / "README.md")


def remove_store() -> None:
    """Delete the made-up store and its index."""
    shutil.rmtree(STORE, ignore_errors=True)
    shutil.rmtree(STORE.with_name(f"{STORE.name}-index"), ignore_errors=True)


def write_keys(readme: Path) -> None:
    """Put the table of keys between its marks in the README."""
    before, begin, rest = readme.read_text().partition("<!-- keys -->")
    _, end, after = rest.partition("<!-- /keys -->")
    if begin and end:
        readme.write_text(f"{before}{begin}\n{key_table()}\n{end}{after}")


if __name__ == "__main__":
    main(sys.argv[1:])
