"""Two branches compared: from their last common entry on, what each has of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from sessionbrowse.format.entries import ToolCallBlock, ToolResultMessage
from sessionbrowse.format.json_value import Json
from sessionbrowse.model.session.session import Session
from sessionbrowse.services.inspect.compare import ChangedLines, changed_files, compare, compare_document
from sessionbrowse.tui.layout.parts import Part
from sessionbrowse.tui.reading.compare_view import NARROWEST_PAIR, compare_parts
from tests.support.session_files import answer, entry, header, opened, user, written


def call(name: str, **arguments: str) -> dict:
    return {"type": "toolCall", "id": f"c-{name}", "name": name, "arguments": arguments}


LINES = (
    header(),
    user("u1", None, "Refactor it"),
    answer("a1", "u1", "Two ways."),
    user("u2", "a1", "Try JWT"),
    answer("a2", "u2", content=[{"type": "text", "text": "JWT it is."}, call("edit", path="src/jwt.py")]),
    user("u3", "a1", "Use sessions"),
    answer("a3", "u3", content=[call("bash", command="ls"), call("write", path="src/session.py", content="x")]),
    answer("a4", "a3", "Migrated."),
    entry("label", "l1", "a4", targetId="a2", label="jwt-works"),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path, *LINES)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return opened(tmp_path, *LINES)


def test_each_side_holds_what_comes_after_the_last_common_entry(session: Session) -> None:
    at = session.index_by_id
    found = compare(session, at["a2"], at["a4"])
    assert found.ancestor == at["a1"]
    assert found.shared == 2
    assert found.left.entries == (at["u2"], at["a2"])
    assert found.right.entries == (at["u3"], at["a3"], at["a4"])
    assert (found.left.messages, found.right.messages) == (2, 3)
    assert found.left.tools == {"edit": 1}
    assert found.right.tools == {"bash": 1, "write": 1}
    assert found.left.files == {"src/jwt.py": ChangedLines(None, None)}, "the arguments do not tell the lines"
    assert found.right.files == {"src/session.py": ChangedLines(1, 0)}
    assert (found.left.cost, found.right.cost) == (0.25, 0.5)
    assert (found.left.branch_cost, found.left.abandoned) == (0.25, 0.25)
    assert (found.right.branch_cost, found.right.abandoned) == (0.75, 0)


def test_an_entry_on_the_way_to_the_other_has_nothing_of_its_own(session: Session) -> None:
    at = session.index_by_id
    found = compare(session, at["a1"], at["a4"])
    assert found.ancestor == at["a1"]
    assert found.left.entries == ()
    assert len(found.right.entries) == 3
    same = compare(session, at["a4"], at["a4"])
    assert same.left.entries == same.right.entries == ()


def test_each_side_tells_its_prompt_outcome_errors_and_time(tmp_path: Path) -> None:
    def result(entry_id: str, parent: str, second: int, *, error: bool) -> bytes:
        message = {"role": "toolResult", "toolCallId": "c-bash", "toolName": "bash", "content": [], "isError": error}
        return entry("message", entry_id, parent, second, message=message)

    session = opened(
        tmp_path,
        header(),
        user("u1", None, "Refactor it"),
        user("u2", "u1", "Use sessions", 2),
        result("r1", "u2", 10, error=True),
        result("r2", "r1", 20, error=False),
        entry(
            "message",
            "a2",
            "r2",
            52,
            message={"role": "assistant", "content": [{"type": "text", "text": "Migrated."}], "stopReason": "stop"},
        ),
    )
    document = compare_document(session, compare(session, session.index_by_id["a2"], session.index_by_id["u1"]))
    left, right = document["left"], document["right"]
    assert (left["failed"], left["seconds"], left["stop_reason"]) == (1, 50.0, "stop")
    assert (left["prompt"], left["answer"]) == ("user: Use sessions", "assistant: Migrated.")
    told = ("failed", "seconds", "stop_reason", "prompt", "answer")
    assert [right[key] for key in told] == [0, None, None, None, None]


def test_the_command_line_prints_errors_and_the_stop_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed = {"role": "toolResult", "toolCallId": "c-bash", "toolName": "bash", "content": [], "isError": True}
    stopped = answer("a1", "r1", "No.", stopReason="length")
    file = written(tmp_path, header(), user("u1", None), entry("message", "r1", "u1", message=failed), stopped)
    assert main(["diff", str(file), "u1", "a1"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("  errors of tools: 1\n") == 1
    assert printed.count("  stopped: length\n") == 1


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"content": "a\nb\n"}, ChangedLines(2, 0)),
        ({"oldText": "a\nb\nc", "newText": "a\nX\nY\nc"}, ChangedLines(2, 1)),
        ({"old_string": "a\n", "new_string": ""}, ChangedLines(0, 1)),
        ({"edits": [{"oldText": "a", "newText": "b"}, {"oldText": "c", "newText": "c\nd"}]}, ChangedLines(2, 1)),
        ({"edits": [{"oldText": "a", "newText": "b"}, {"patch": "?"}]}, ChangedLines(None, None)),
        ({"input": "a patch of another form"}, ChangedLines(None, None)),
        ({"edits": []}, ChangedLines(None, None)),
    ],
)
def test_the_lines_that_a_call_changes(arguments: dict[str, Json], lines: ChangedLines) -> None:
    asked = ToolCallBlock(id="c", name="edit", arguments={"path": "a.py", **arguments})
    assert changed_files(asked, None) == [("a.py", lines)]
    assert changed_files(asked, ToolResultMessage(is_error=True)) == [("a.py", ChangedLines(0, 0))]
    stored = ToolResultMessage(details={"diff": "+1 x\n+2 y\n-1 z"})
    assert changed_files(asked, stored) == [("a.py", ChangedLines(2, 1))]
    assert changed_files(ToolCallBlock(id="c", name="read", arguments={"path": "a.py"}), None) == []


_DIFF, _NOT_KNOWN = " 2|x\n-3|old\n+3|new", ChangedLines(None, None)


@pytest.mark.parametrize(
    ("details", "files"),
    [
        ({"path": "/p/a.py", "diff": _DIFF, "op": "update"}, [("/p/a.py", ChangedLines(1, 1))]),
        (
            {"path": "b.py", "sourcePath": "a.py", "move": "b.py", "diff": ""},
            [("a.py", _NOT_KNOWN), ("b.py", ChangedLines(0, 0))],
        ),
        (
            {
                "diff": f"{_DIFF}\n{_DIFF}",
                "perFileResults": [
                    {"path": "a.py", "diff": _DIFF},
                    {"path": "b.py", "diff": _DIFF, "isError": False},
                    {"path": "failed.py", "diff": "", "isError": True, "errorText": "no match"},
                ],
            },
            [("a.py", ChangedLines(1, 1)), ("b.py", ChangedLines(1, 1))],
        ),
        ({"applied": True, "fileReplacements": [{"path": "a.py", "count": 3}]}, [("a.py", _NOT_KNOWN)]),
        (
            {"xdev": {"tool": "edit", "mode": "execute", "inner": {"path": "a.py", "diff": "+1|x"}}},
            [("a.py", ChangedLines(1, 0))],
        ),
    ],
)
def test_the_files_that_a_result_of_omp_reports_are_those_that_changed(
    details: dict[str, Json], files: list[tuple[str, ChangedLines]]
) -> None:
    asked = ToolCallBlock(id="c", name="edit", arguments={"input": "[other.py#1a2b]\nPUT 3.=3:\n+new"})
    assert changed_files(asked, ToolResultMessage(details=details)) == files
    as_write = ToolCallBlock(id="c", name="write", arguments={"path": "xd://edit", "content": "{}"})
    assert changed_files(as_write, ToolResultMessage(details=details)) == files


def test_a_preview_and_a_call_of_another_tool_change_no_file() -> None:
    preview = ToolResultMessage(details={"applied": False, "fileReplacements": [{"path": "a.py", "count": 3}]})
    assert changed_files(ToolCallBlock(id="c", name="ast_edit", arguments={"paths": ["a.py"]}), preview) == []
    assert (
        changed_files(ToolCallBlock(id="c", name="write", arguments={"path": "xd://todo", "content": "x"}), None) == []
    )


@pytest.mark.parametrize(
    ("patch", "paths"),
    [
        (
            "*** Begin Patch\n[src/a b.py#1a2B]\nPUT 3.=3:\n+[no.py#0000]\n[c.py#0000]\nREM\n*** End Patch",
            ["src/a b.py", "c.py"],
        ),
        (
            "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+y\n*** Add File: c.py\n+z",
            ["a.py", "b.py", "c.py"],
        ),
        ("*** Delete File: d.py\n", ["d.py"]),
        ('*** SM:EDIT "a all" all\n*** SM:FIND\nx\n*** SM:PUT\ny\n*** SM:EDIT\n*** SM:FIND', ["a all"]),
    ],
)
def test_a_patch_without_a_result_names_its_files(patch: str, paths: list[str]) -> None:
    asked = ToolCallBlock(id="c", name="edit", arguments={"input": patch})
    assert changed_files(asked, None) == [(path, _NOT_KNOWN) for path in paths]
    assert changed_files(asked, ToolResultMessage(is_error=True)) == [(path, ChangedLines(0, 0)) for path in paths]


def test_an_absolute_and_a_relative_path_of_a_file_are_one_file(tmp_path: Path) -> None:
    written_by = [{"type": "toolCall", "id": "w", "name": "write", "arguments": {"path": "a.py", "content": "x\n"}}]
    edited_by = [{"type": "toolCall", "id": "e", "name": "edit", "arguments": {"input": "[a.py#0000]\nPUT 1.=1:\n+y"}}]
    details = {"path": f"{json.loads(header())['cwd']}/a.py", "diff": "-1|x\n+1|y"}
    result = {"role": "toolResult", "toolCallId": "e", "toolName": "edit", "content": [], "details": details}
    lines = (
        user("u1", None),
        answer("a1", "u1", content=written_by),
        answer("a2", "a1", content=edited_by),
        entry("message", "r2", "a2", message=result),
        user("u2", "u1"),
    )
    session = opened(tmp_path, header(), *lines)
    found = compare(session, session.index_by_id["r2"], session.index_by_id["u2"])
    assert found.left.files == {"a.py": ChangedLines(2, 1)}


def test_lines_of_calls_without_an_error_are_counted_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = ({"type": "toolCall", "id": key, "name": "edit"} for key in ("c1", "c2"))
    change = {"path": "src/a.py", "oldText": "x", "newText": "y\nz"}
    lines = (
        header(),
        user("u1", None, "Go"),
        answer("a1", "u1", content=[first | {"arguments": change}, second | {"arguments": change}], stopReason="error"),
        entry("message", "r1", "a1", message={"role": "toolResult", "toolCallId": "c1", "content": []}),
        entry(
            "message", "r2", "r1", message={"role": "toolResult", "toolCallId": "c2", "content": [], "isError": True}
        ),
        user("u2", "u1", "Go elsewhere"),
    )
    session = opened(tmp_path, *lines)
    found = compare(session, session.index_by_id["r2"], session.index_by_id["u2"])
    assert found.left.files == {"src/a.py": ChangedLines(2, 1)}
    shown = " ".join(part.plain() for part in compare_parts(session, found, "", 60))
    assert "files a.py +2 -1" in shown
    assert "edit 2  1 error" in shown
    assert "ended error: " in shown
    assert "ended without an answer" in shown
    assert main(["diff", str(tmp_path / Path(session.path).name), "r2", "u2"]) == 0
    assert "files: src/a.py +2 -1" in capsys.readouterr().out


def test_two_roots_have_nothing_in_common(tmp_path: Path) -> None:
    session = opened(tmp_path, header(), user("u1", None), user("u2", None))
    found = compare(session, 0, 1)
    assert found.ancestor is None
    assert found.shared == 0
    assert compare_document(session, found)["ancestor"] is None


def test_a_branch_of_many_thousand_entries_is_no_recursion(tmp_path: Path) -> None:
    chain = [user("e0", None), *[user(f"e{number}", f"e{number - 1}") for number in range(1, 20_000)]]
    session = opened(tmp_path, header(), *chain, user("x", "e3"))
    found = compare(session, session.index_by_id["e19999"], session.index_by_id["x"])
    assert found.shared == 4
    assert len(found.left.entries) == 19_996


def test_the_command_line_prints_both_sides(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(path), "jwt-works", "a4", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["ancestor"] == "a1"
    assert document["shared_entries"] == 2
    assert document["left"]["label"] == "jwt-works"
    assert [each["id"] for each in document["left"]["entries"]] == ["u2", "a2"]
    assert document["right"]["files"] == ["src/session.py"]
    assert document["right"]["cost"] == 0.5
    assert main(["diff", str(path), "jwt-works", "a4"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("2 entries shared by the branches, up to a1\n")
    assert "< a2 [jwt-works] · 2 messages" in text
    assert "  files: src/session.py" in text
    assert "user: Use sessions" in text
    assert main(["diff", str(path), "u2", "a4"]) == 0
    assert "< u2 · 1 message · " in capsys.readouterr().out


def test_an_entry_that_is_not_there_is_named(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(path), "a2", "nope"]) == 1
    assert "'nope'" in capsys.readouterr().err


def shown(parts: list[Part], width: int) -> list[str]:
    return ["".join([text for text, _ in row]).rstrip() for part in parts for row in part.rows(width)]


def test_branches_stand_beside_each_other_where_there_is_room(session: Session) -> None:
    found = compare(session, session.index_by_id["a2"], session.index_by_id["a4"])
    rows = shown(compare_parts(session, found, "/home/dev", 90), 90)
    assert any("◀" in row and "│" in row and "▶" in row for row in rows)
    assert any("Try JWT" in row and "│ Use sessions" in row for row in rows)
    assert any("files jwt.py" in row and "files session.py" in row for row in rows)


def test_branches_stand_below_each_other_in_a_narrow_pane(session: Session) -> None:
    found = compare(session, session.index_by_id["a2"], session.index_by_id["a4"])
    rows = shown(compare_parts(session, found, "/home/dev", NARROWEST_PAIR - 1), NARROWEST_PAIR - 1)
    first, second = rows.index("JWT it is."), rows.index("Use sessions")
    assert first < second
    assert not any("Try JWT" in row and "Use sessions" in row for row in rows)
