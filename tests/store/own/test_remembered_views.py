"""What is remembered from run to run: one file of ours, which damage, other browsers and odd names cannot harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessionbrowse.store.own.remembered_views import (
    FILE,
    MOST_SCOPES,
    MOST_SESSIONS,
    ListView,
    SessionView,
    recall,
    remember,
    scope_key,
)

VIEW = ListView(project="/w", session="/a.jsonl", sort="name", flipped=("/b",), widths={"projects": 30}, theme="light")
TREE = SessionView(entry="e1", folded=("e2",))


def test_what_is_left_is_found_again(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    assert recall(state, "") == (None, {})
    remember(state, "", VIEW, {"/a.jsonl": TREE})
    assert recall(state, "") == (VIEW, {"/a.jsonl": TREE})
    assert recall(state, "/other") == (None, {"/a.jsonl": TREE})
    assert [path.name for path in (tmp_path / "state").iterdir()] == [FILE]


def test_what_another_browser_left_meanwhile_stays(tmp_path: Path) -> None:
    state = str(tmp_path)
    remember(state, "", VIEW, {"/a.jsonl": TREE})
    remember(state, "/backup", ListView(sort="size"), {"/b.jsonl": SessionView()})
    remember(state, "", ListView(sort="cost"), {})
    assert recall(state, "")[0] == ListView(sort="cost")
    assert recall(state, "/backup") == (ListView(sort="size"), {"/a.jsonl": TREE, "/b.jsonl": SessionView()})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'{"version":1,"scopes":{"":{"sort":3}}}',
        b'{"version":2,"scopes":{}}',
        pytest.param(b'{"x":' + b"[" * 100_000, id="deep"),
    ],
)
def test_a_damaged_or_newer_file_is_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    assert recall(str(tmp_path), "") == (None, {})
    remember(str(tmp_path), "", VIEW, {})
    assert recall(str(tmp_path), "") == (VIEW, {})


def test_the_file_stays_small_by_forgetting_what_was_left_first(tmp_path: Path) -> None:
    for number in range(MOST_SCOPES + 5):
        remember(str(tmp_path), f"/{number}", ListView(), {})
    many = {f"/{number}.jsonl": SessionView() for number in range(MOST_SESSIONS + 5)}
    remember(str(tmp_path), "/last", ListView(flipped=tuple(map(str, range(10_000)))), many)
    assert recall(str(tmp_path), "/0")[0] is None
    assert recall(str(tmp_path), "/last")[0] is not None
    assert "/0.jsonl" not in recall(str(tmp_path), "")[1]
    assert f"/{MOST_SESSIONS + 4}.jsonl" in recall(str(tmp_path), "")[1]
    assert (tmp_path / FILE).stat().st_size < 32_000


def test_names_that_are_no_text_are_forgotten_and_the_rest_is_kept(tmp_path: Path) -> None:
    remember(str(tmp_path), "", ListView(session="/\udcff.jsonl", sort="name"), {"/\udcff.jsonl": TREE})
    assert recall(str(tmp_path), "") == (ListView(sort="name"), {})


def test_where_nothing_can_be_written_the_error_is_the_disks(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(FileExistsError):
        remember(str(tmp_path / "state"), "", VIEW, {})


def test_the_same_places_are_the_same_scope_in_any_order(tmp_path: Path) -> None:
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    assert scope_key([a, b], ["pi"]) == scope_key([b, a], ["pi"])
    assert scope_key([a], []) != scope_key([a], ["pi"])
    assert scope_key([], []) == ""
