"""What stands beside the tree, as a user reads it: folds, images, comparisons."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.session_files import answer, entry, header, user, written
from tests.support.tui_support import Driven, browsing, fixed_source, summary


def answer_of(entry_id: str, parent: str, *blocks: dict[str, Any]) -> bytes:
    return answer(entry_id, parent, content=list(blocks))


def tool_result(entry_id: str, parent: str, call_id: str, text: str, **more: Any) -> bytes:
    message = {"role": "toolResult", "toolCallId": call_id, "content": [{"type": "text", "text": text}], **more}
    return entry("message", entry_id, parent, message=message)


@asynccontextmanager
async def reading(tmp_path: Path, *lines: bytes, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Driven]:
    """Open a session of these entries."""
    path = written(tmp_path, header(), *lines)
    async with browsing(fixed_source([summary(str(path))]), size=size) as browser:
        await browser.press("enter")
        assert browser.screen_name == "session"
        yield browser


async def test_folds_open_with_enter_and_all_of_them_with_one_key(tmp_path: Path) -> None:
    output = "\n".join([f"row {number}" for number in range(1, 61)])
    lines = [
        user("u1", None, "Look."),
        answer_of(
            "a1",
            "u1",
            {"type": "thinking", "thinking": "first\nsecond thought"},
            {"type": "text", "text": "Let me see."},
            {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}},
        ),
        tool_result("t1", "a1", "c1", output),
    ]
    async with reading(tmp_path, *lines) as browser:
        await browser.press("k")
        text = browser.words("#view")
        assert "▸ ✧ thinking 2 lines" in text
        assert "row 20 ▸ 40 more lines" in text
        await browser.press("o")
        assert "▾ ✧ thinking" in browser.words("#view")
        await browser.press("enter", "right_square_bracket", "enter")
        assert "▾ 40 more lines row 21" in browser.words("#view")
        await browser.run("open_all")
        text = browser.words("#view")
        assert "▸ ✧ thinking" in text
        assert "▸ 40 more lines" in text
        await browser.run("open_all")
        await browser.press("G")
        assert "row 60" in browser.words("#view")


async def test_a_key_that_finds_no_fold_says_so(tmp_path: Path) -> None:
    async with reading(tmp_path, user("u1", None, "Look.")) as browser:
        await browser.press("o")
        assert browser.toasts() == ["The entry shown beside the tree has no fold, image or link."]
        await browser.run("open_image")
        assert browser.toasts()[-1] == "The entry shown beside the tree has no image."


async def test_the_marked_fold_moves_and_is_brought_on_screen(tmp_path: Path) -> None:
    blocks = [
        block
        for number in range(12)
        for block in (
            {"type": "thinking", "thinking": f"thought {number}\nmore"},
            {"type": "text", "text": "text\n\n" * 6},
        )
    ]
    async with reading(tmp_path, user("u1", None, "Look."), answer_of("a1", "u1", *blocks), size=(100, 24)) as browser:
        await browser.press("enter", *["right_square_bracket"] * 11, "enter")
        assert "▾ ✧ thinking 2 lines │ thought 11" in browser.words("#view")
        await browser.press(*["left_square_bracket"] * 11, "enter")
        assert "▾ ✧ thinking 2 lines │ thought 0" in browser.words("#view")


async def test_a_click_on_a_fold_opens_it(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "first\nsecond"}
    async with reading(
        tmp_path, user("u1", None, "Look."), answer_of("a1", "u1", thought, {"type": "text", "text": "x"})
    ) as browser:
        row = next(number for number, text in enumerate(browser.rows("#view")) if "▸ ✧" in text)
        await browser.pilot.click("#view", offset=(6, row + 1))
        await browser.settle()
        assert "▾ ✧ thinking" in browser.words("#view")


async def test_a_result_of_megabytes_is_paged_through(tmp_path: Path) -> None:
    output = "".join([f"line {number:08d} of a very long output\n" for number in range(300_000)])
    lines = [
        user("u1", None, "Look."),
        answer_of("a1", "u1", {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}),
        tool_result("t1", "a1", "c1", output),
    ]
    async with reading(tmp_path, *lines) as browser:
        await browser.press("enter", "G")
        assert "line 00299999" in browser.words("#view")
        await browser.press("pageup", "g")
        assert "$ ls" in browser.words("#view")


# ---- comparing -------------------------------------------------------------------------------------------------

BRANCHES = (
    user("u1", None, "Refactor it"),
    answer("a1", "u1", "Two ways."),
    user("u2", "a1", "Try JWT"),
    answer("a2", "u2", "JWT it is."),
    user("u3", "a1", "Use sessions"),
    answer("a3", "u3", "Migrated."),
)


async def test_two_selected_entries_are_compared_wherever_the_cursor_is(tmp_path: Path) -> None:
    async with reading(tmp_path, *BRANCHES, size=(130, 40)) as browser:
        await browser.press("space", "G", "space", "g", "d")
        text = browser.words("#view")
        assert "2 shared entries, up to a1" in text
        assert "● user │ ● user" in text
        assert "Try JWT │ Use sessions" in text
        await browser.press("g", "down", "space", "d")
        assert browser.toasts()[-1] == "3 entries are selected; two can be compared."


async def test_an_entry_is_compared_with_the_leaf_at_once(tmp_path: Path) -> None:
    async with reading(tmp_path, *BRANCHES, size=(130, 40)) as browser:
        await browser.press("G", "d")
        assert "● user │ ● user" in browser.words("#view")
        await browser.press("g")
        assert "u1 is an ancestor of a3" in browser.words("#view")


async def test_a_comparison_takes_another_shape_when_the_room_changes(tmp_path: Path) -> None:
    async with reading(tmp_path, *BRANCHES, size=(130, 40)) as browser:
        await browser.press("G", "d")
        assert "Use sessions │ Try JWT" in browser.words("#view")
        await browser.pilot.resize_terminal(100, 40)
        await browser.settle()
        text = browser.words("#view")
        assert "Use sessions │ Try JWT" not in text
        assert text.index("Use sessions") < text.index("Try JWT")


# ---- the context -----------------------------------------------------------------------------------------------


async def test_the_context_says_how_much_of_the_window_is_taken_and_by_what(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "hm " * 4000}
    lines = [
        user("u1", None, "question " * 2000),
        answer(
            "a1", "u1", usage=None, model="claude-opus-4-5", content=[thought, {"type": "text", "text": "word " * 4000}]
        ),
    ]
    async with reading(tmp_path, *lines) as browser:
        await browser.press("tab")
        text = browser.words("#view").replace("\xa0", " ")
        assert "tokens of 200k (" in text
        assert "user 4.5k" in text
        assert "assistant 5k" in text
        assert "thinking 3k" in text
        assert "░ free 188k" in text


async def test_the_largest_items_of_the_context_lead_to_their_entries(tmp_path: Path) -> None:
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "src/login.py"}}
    lines = [
        user("u1", None, "Where is the bug?"),
        answer_of("a1", "u1", {"type": "text", "text": "I read the file."}, call),
        tool_result("t1", "a1", "c1", "code " * 9000, toolName="read"),
        answer_of("a2", "t1", {"type": "text", "text": "word " * 900}),
        user("u2", "a2", "Mend it."),
    ]
    async with reading(tmp_path, *lines) as browser:
        await browser.press("tab")
        text = browser.words("#view")
        assert "largest items (sizes are estimates) ↗ 11.2k tool results src/login.py ↗ 1.1k assistant word" in text
        await browser.press("enter", "full_stop")
        assert "code code" in browser.words("#view")


async def test_a_click_follows_a_link_to_an_entry_that_the_filter_hides(tmp_path: Path) -> None:
    lines = [
        user("u1", None, "Where is the bug?"),
        answer_of("a1", "u1", {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a.py"}}),
        tool_result("t1", "a1", "c1", "code " * 9000, toolName="read"),
        answer_of("a2", "t1", {"type": "text", "text": "word " * 900}),
    ]
    async with reading(tmp_path, *lines) as browser:
        await browser.press("2", "tab")
        assert "[read" not in browser.words("#tree")
        row = next(number for number, text in enumerate(browser.rows("#view")) if "↗" in text)
        await browser.pilot.click("#view", offset=(6, row + 1))
        await browser.settle()
        assert "[read: a.py]" in browser.words("#tree")
        assert "code code" in browser.words("#view")


async def test_a_compaction_shows_what_its_summary_does_not_mention(tmp_path: Path) -> None:
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "src/login.py"}}
    lines = [
        user("u1", None, "Where is the bug?"),
        answer_of("a1", "u1", call),
        tool_result("t1", "a1", "c1", "def login(): ...", toolName="read"),
        user("u2", "t1", "Go on."),
        entry("compaction", "k1", "u2", summary="Looked around.", firstKeptEntryId="u2", tokensBefore=900),
    ]
    async with reading(tmp_path, *lines) as browser:
        assert "▸ 1 file not in the summary" in browser.words("#view")
        await browser.press("o")
        assert "↗ src/login.py" in browser.words("#view")
        await browser.press("enter", "right_square_bracket", "enter")
        assert "[read: src/login.py]" in browser.words("#tree")
        assert "not in the summary" not in browser.words("#view")


async def test_branches_show_their_cost_and_answers_theirs_after_a_key(tmp_path: Path) -> None:
    usage = {"input": 9, "output": 9, "cost": {"total": 1.25}}
    lines = [
        user("u1", None, "Two ways?"),
        answer("a1", "u1", "Two.", usage=usage),
        user("u2", "a1", "Try one"),
        answer("a2", "u2", "Done.", usage=usage),
        answer("a3", "a2", content=[{"type": "toolCall", "id": "c1", "name": "bash", "arguments": {}}], usage=usage),
        tool_result("t3", "a3", "c1", "Done again.", toolName="bash"),
        user("u3", "a1", "Try two"),
        answer("a4", "u3", "Free of charge."),
    ]
    async with reading(tmp_path, *lines) as browser:
        tree = browser.words("#tree")
        assert "Try one $2.50" in tree
        assert "$1.25" not in tree
        await browser.run("answer_costs")
        tree = browser.words("#tree")
        assert "assistant: Done. $1.25" in tree
        assert "[bash: ] $1.25" in tree, "its answer has no row of its own"
        assert "$2.50" not in tree
        await browser.run("answer_costs")
        assert "$1.25" not in browser.words("#tree")
