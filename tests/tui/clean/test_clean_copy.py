"""Pruning and shrinking from the tree: marked, shown before anything changes, and brought back."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tests.support.change_helpers import CONVERSATION, Store, entry, lines_of, user
from tests.tui.clean.test_clean_screens import browsed, made

ABANDONED = [
    user("a0000001", "00000006", "wrong way"),
    user("a0000002", "00000006", "kept by its label"),
    entry("label", "a0000003", "a0000002", targetId="a0000002", label="good"),
]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def path(store: Store) -> Path:
    """A session with two abandoned branches, one of them labelled."""
    last = [dict(one) for one in CONVERSATION[6:]]
    return made(store, "a", *CONVERSATION[:6], *ABANDONED, *last)


def ids_in(path: Path) -> set[str]:
    return {line["id"] for line in lines_of(path)[1:]}


async def test_abandoned_branches_without_a_label_are_dropped_in_place_and_come_back(store: Store, path: Path) -> None:
    was = path.read_bytes()
    async with browsed(store) as browser:
        await browser.press("enter", "x", "b", "enter")
        await browser.until(lambda: "Goes: 1 entry," in browser.screen_text())
        assert "Stays:" in browser.screen_text()
        # The last question before a session is replaced names the session.
        assert "│ π" in browser.screen_text()
        assert path.read_bytes() == was
        await browser.press("down", "down", "enter")
        assert "wrong way" not in path.read_text()
        assert "a0000002" in ids_in(path)
        assert "Pruned:" in browser.toasts()[-1]
        assert "u undoes." in browser.toasts()[-1]
        assert "wrong way" not in browser.words("#tree")
        await browser.press("u")
        assert path.read_bytes() == was
        await browser.press("x", "b", "down", "enter")
        await browser.until(lambda: "Goes: 3 entries" in browser.screen_text())
        assert "Labels removed with their entries: 1." in browser.screen_text()


async def test_marked_branches_are_dropped_from_a_copy_with_an_id_of_its_own(store: Store, path: Path) -> None:
    was = path.read_bytes()
    async with browsed(store) as browser:
        await browser.press("enter", "slash")
        await browser.type("wrong")
        await browser.press("enter", "n", "space")
        assert "1 selected" in browser.screen_text()
        await browser.press("x", "b")
        assert "Drop 1 selected entry and all below" in browser.screen_text()
        await browser.press("enter", "enter")
        (copy,) = [one for one in path.parent.iterdir() if one != path]
        assert ids_in(path) - ids_in(copy) == {"a0000001"}
        assert lines_of(copy)[0]["parentSession"] == str(path)
        assert path.read_bytes() == was
        assert "Wrote" in browser.toasts()[-1]
        assert "1 selected" not in browser.screen_text()


async def test_dropping_the_active_branch_names_the_new_leaf(store: Store, path: Path) -> None:
    async with browsed(store) as browser:
        await browser.press("enter", "x", "b", "down", "down", "enter")
        assert "resumed at" in browser.screen_text()
        await browser.press("escape")
        assert browser.screen_name == "session"


async def test_what_would_leave_no_message_is_refused(store: Store, path: Path) -> None:
    was = path.read_bytes()
    async with browsed(store) as browser:
        await browser.press("enter", "g", "x", "b", "down", "down", "enter")
        assert "No message would stay" in browser.toasts()[-1]
        assert path.read_bytes() == was


async def test_images_are_dropped_into_a_file(store: Store) -> None:
    picture = user("00000002", None, "see")
    image = base64.b64encode(bytes(range(256)) * 40).decode()
    picture["message"]["content"].append({"type": "image", "mimeType": "image/png", "data": image})
    path, to = made(store, "a", picture, *CONVERSATION[2:]), store.folder / "small.jsonl"
    was = path.read_bytes()
    async with browsed(store) as browser:
        await browser.press("enter", "x", "s", "enter")
        assert "1 image," in browser.screen_text()
        await browser.press("down", "enter")
        await browser.type(str(to))
        await browser.press("enter")
        assert len(to.read_bytes()) < len(was) - 10_000
        assert path.read_bytes() == was
        await browser.press("x", "s", "down", "down", "enter")
        assert "This session has nothing to drop." in browser.toasts()[-1]


async def test_a_session_that_changed_since_the_preview_is_left_as_it_is(store: Store, path: Path) -> None:
    async with browsed(store) as browser:
        await browser.press("enter", "x", "b", "enter")
        was = path.read_bytes() + b'{"type":"custom","id":"ffffffff","parentId":"00000008","customType":"x"}\n'
        path.write_bytes(was)
        await browser.press("down", "down", "enter")
        assert any("changed since the preview" in toast for toast in browser.toasts())
        assert path.read_bytes() == was


async def test_a_damaged_session_is_repaired_before_its_branches_are_dropped(store: Store, path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[4] = lines[4][: len(lines[4]) // 2] + b"\n"
    path.write_bytes(b"".join(lines))
    async with browsed(store) as browser:
        await browser.press("enter", "x", "b", "down", "enter")
        assert "The file is damaged in" in browser.screen_text()
        assert "Repair the session first" in browser.screen_text()
        damaged = browser.screen_text()
        await browser.press("enter")
        await browser.until(lambda: "Goes: 3 entries" in browser.screen_text())
        assert "Goes: 3 entries" not in damaged
        assert "The file is damaged in" not in browser.screen_text()
        await browser.press("escape", "u")
        assert path.read_bytes() == b"".join(lines)
