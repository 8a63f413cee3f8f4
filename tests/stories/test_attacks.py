"""Text that attacks, in every field, in a real terminal: of every screen and dialog not one byte of it arrives raw."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from tests.stories.test_hostile import ATTACK, hostile
from tests.support.terminal import BACKSPACE, ENTER, ESCAPE, TAB, Terminal, TimedOut
from tests.tui.outside.test_terminal import PROJECT, leave, surroundings

OURS = re.compile(
    rb"\x1b\[[0-9;:?<>=]*[ $]?[A-Za-z]"  # what textual moves and colours with; what attacks is looked for before
    rb"|\x1b\]52;c;[A-Za-z0-9+/=]*\x07"  # what is copied, encoded
    rb"|\x1b[=>78]"
    rb"|\x1b\]22;[a-z-]*\x07"  # the shape of the mouse
)
ATTACKS = (b"\x1b]52;c;aGFjaw==", b"\x1b]8;", b"\x1b[2J\x1b[31m", b"\x1b]0;t", b"aGFjaw==\x07")
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069]")
FOLDER = ATTACK.replace("/", "_").replace("\0", "")[:120]
OWN = r"""
[[commands]]
name = "Say it"
key = "ctrl+e"
run = ["printf", 'said: \033]52;c;aGFjaw==\007\033[2J\033[31m%s %s', "{path}", "{id}"]
output = "toast"

[[commands]]
name = "Say much"
key = "ctrl+y"
run = ["printf", 'answered \033]52;c;aGFjaw==\007\033[2J\033[31m\033]0;t\007\302\233\342\200\256[red]']
output = "toast"
"""

STEPS: list[tuple[str, tuple[str, ...], str, tuple[str, ...]]] = [
    ("a family", ("o",), "sessions", ("o",)),
    ("paths", ("\x10",), "sessions", ("\x10",)),
    ("the preview", ("l",), "Preview", ("h",)),
    ("projects", ("h",), "Projects", ("l",)),
    ("threads", ("\x13",), "threaded", ("\x13",) * 4),
    ("a selection", ("A",), "selected", (ESCAPE,)),
    ("a filter", ("/", "agent:pi"), "session", (ESCAPE, ESCAPE)),
    ("help", ("?",), "Keys", (ESCAPE,)),
    ("the palette", (":",), "Commands", (ESCAPE,)),
    ("renaming", ("\x12",), "Rename", (ESCAPE,)),
    ("deleting", ("\x04",), "trash", (ESCAPE,)),
    ("forking", ("f",), "Fork", (ESCAPE,)),
    ("moving", ("x", "m"), "Sessions of", (ESCAPE,)),
    ("what to take back", ("U",), "Undo and trash", (ESCAPE,)),
    ("ways to resume", ("R",), "esume", (ESCAPE,)),
    ("damage", ("!",), "Problems", (ESCAPE,)),
    ("an export", ("x", "t"), "HTML page", (ESCAPE,)),
    ("what to copy", ("y",), "opy", (ESCAPE,)),
    ("an own command that is told a path", ("\x05",), "said: ", ()),
    ("one that cannot be", ("j", "\x05"), "cannot be run", ("k",)),
    ("what an own command says", ("\x19",), "answered", ()),
    ("a session to delete", ("\x04",), "Move to the trash", ()),
    ("a deleted session", ("t",), "u undoes", ()),
    ("what to take back, with an entry that attacks", ("U",), "trash  π link", (ESCAPE,)),
    ("what was undone", ("u",), "Restored", ()),
    ("labels", ("'",), "label:", (ESCAPE, ESCAPE)),
    ("search", ("/", "markup"), "session", (ESCAPE, ESCAPE)),
]
"""What is looked at, the keys that show it, a word that then stands there, and the keys that leave it."""


MOVES = re.compile(rb"\x1b\[[0-9;]*[CH]")


def attacked_home(home: Path) -> Path:
    """Write a store in which folders, files and every field attack; return the store."""
    folder = home / ".pi" / "agent" / "sessions" / f"--{FOLDER}--"
    folder.mkdir(parents=True)
    first = hostile(folder / "2026-11-18T09-00-00-000Z_x.jsonl")
    lines = first.read_text().split("\n", 1)
    header = json.loads(lines[0])
    alone = {"parentSession": None}
    nul = "\\u0000"
    # No program can be given the NULs of the others.
    others = (({"parentSession": str(first)}, nul), ({"cwd": ATTACK, **alone}, nul), ({"cwd": str(home), **alone}, ""))
    for number, (more, kept) in enumerate(others):
        changed = json.dumps(header | {"id": f"{number}{ATTACK}"} | more)
        path = folder / f"2026-11-18T09-00-0{number + 1}-000Z_y.jsonl"
        path.write_text(f"{changed}\n{lines[1]}".replace(nul, kept))
    settings = home / ".config" / "sessionbrowse"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text(OWN)
    return home / ".pi"


def assert_nothing_raw(seen: bytearray) -> None:
    """Fail if a byte that a session sent reached the terminal."""
    for attack in ATTACKS:
        assert attack not in seen
    text = OURS.sub(b"", seen).decode(errors="ignore")
    found = CONTROLS.search(text)
    assert found is None, repr(text[max(0, found.start() - 60) : found.end() + 20])
    assert "\u0301" * 64 not in text
    assert b"y" * 400 not in OURS.sub(b"", MOVES.sub(b"\n", seen))


def test_no_list_dialog_or_search_sends_what_a_session_says_raw(tmp_path: Path, own_home: Path) -> None:
    store = attacked_home(own_home)
    with _browser(store, own_home) as browser:
        browser.wait("4 sessions")
        for what, keys, expected, leaving in STEPS:
            browser.press(*keys)
            try:
                browser.wait(expected)
            except TimedOut as error:
                raise AssertionError(f"{what}: {error}") from None
            browser.until_quiet(0.2)
            for key in leaving:
                _press(browser, key)
        assert leave(browser)[0] == 0
        assert_nothing_raw(browser.seen)


def test_no_view_of_an_entry_sends_what_a_session_says_raw(tmp_path: Path, own_home: Path) -> None:
    store = attacked_home(own_home)
    with _browser(store, own_home) as browser:
        browser.wait("4 sessions")
        browser.press(ENTER)
        browser.wait("entries")
        browser.press("5", "g")
        browser.until_quiet(0.2)
        for _ in range(16):
            for key in (TAB, TAB, TAB, TAB, "j"):
                browser.press(key)
                browser.until_quiet(0.06)
        shows = [("!", "Problems"), ("L", "abel"), ("y", "opy"), ("f", "ork"), (":", "Commands")]
        shows += [("xb", "Prune"), ("xs", "Shrink"), ("xt", "Export"), ("x", "Actions")]
        for keys, expected in shows:
            browser.press(*keys)
            browser.wait(expected)
            browser.until_quiet(0.2)
            _press(browser, ESCAPE)
        browser.press("d", "k", "k")
        browser.until_quiet(0.2)
        browser.press(" ", "/", "evil", BACKSPACE)
        browser.wait("match")
        browser.press(ENTER, "n", "l")
        browser.until_quiet(0.2)
        assert leave(browser)[0] == 0
        assert_nothing_raw(browser.seen)


def _press(browser: Terminal, key: str) -> None:
    """Press a key and wait for what it changes: an escape is one only when nothing follows it."""
    before = browser.screen.text()
    browser.press(key)
    browser.wait(lambda screen: screen.text() != before)
    browser.until_quiet(0.1)


def _browser(store: Path, home: Path) -> Terminal:
    command = [sys.executable, "-m", "sessionbrowse", "--root", str(store)]
    return Terminal(command, surroundings(home, home), PROJECT, columns=150)
