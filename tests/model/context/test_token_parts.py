"""What of a context the tokens are spent on, and how much a model's window holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessionbrowse.model.context import build
from sessionbrowse.model.context.token_parts import ContextItem, context_items, largest_items, tokens_by_part
from sessionbrowse.tui.reading.context_view import PART_ROLES, window_bar
from tests.support.session_files import answer, entry, header, opened, user

IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}


def test_the_parts_are_together_what_the_context_takes(tmp_path: Path) -> None:
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "x" * 400}}
    result = {"role": "toolResult", "toolCallId": "c1", "content": [{"type": "text", "text": "y" * 4000}, IMAGE]}
    session = opened(
        tmp_path,
        header(),
        user("u1", None, [{"type": "text", "text": "q" * 40}, IMAGE]),
        answer(
            "a1", "u1", content=[{"type": "thinking", "thinking": "t" * 800}, {"type": "text", "text": "a" * 80}, call]
        ),
        entry("message", "r1", "a1", message=result),
        entry("message", "b1", "r1", message={"role": "bashExecution", "command": "ls", "output": "o" * 398}),
    )
    built = build.build(session)
    parts = tokens_by_part(context_items(built.messages))
    assert sum(parts.values()) == built.tokens
    assert parts == {
        "user": 10,
        "assistant": 20,
        "thinking": 200,
        "calls": parts["calls"],
        "results": 1100,
        "images": 2400,
    }
    assert 100 <= parts["calls"] <= 110


def test_a_summary_is_a_part_of_its_own(tmp_path: Path) -> None:
    session = opened(
        tmp_path,
        header(),
        user("u1", None),
        entry("compaction", "k1", "u1", summary="s" * 400, firstKeptEntryId="k1", tokensBefore=9),
        user("u2", "k1", "q" * 8),
    )
    assert tokens_by_part(context_items(build.build(session).messages)) == {"summary": 100, "user": 2}


def test_the_largest_items_come_first_with_their_entry_and_file(tmp_path: Path) -> None:
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "src/a.py"}}
    other = {"type": "toolCall", "id": "c2", "name": "bash", "arguments": {"path": "src/b.py"}}

    def result(call_id: str, tool: str, size: int, *more: object) -> dict[str, object]:
        content = [{"type": "text", "text": "y" * size}, *more]
        return {"role": "toolResult", "toolCallId": call_id, "toolName": tool, "content": content}

    session = opened(
        tmp_path,
        header(),
        user("u1", None, "q" * 400),
        answer("a1", "u1", content=[{"type": "thinking", "thinking": "t" * 800}, call, other]),
        entry("message", "r1", "a1", message=result("c1", "read", 8000, IMAGE, IMAGE)),
        entry("message", "r2", "r1", message=result("c2", "bash", 800)),
    )
    built = build.build(session)
    items = largest_items(context_items(built.messages))
    assert items[:5] == [
        ContextItem("images", 2400, "r1", 2, "read", "src/a.py"),
        ContextItem("results", 2000, "r1", 2, "read", "src/a.py"),
        ContextItem("thinking", 200, "a1", 1),
        ContextItem("results", 200, "r2", 3, "bash"),
        ContextItem("user", 100, "u1", 0),
    ]
    assert sum(item.tokens for item in items) == built.tokens
    assert largest_items(context_items(built.messages), 2) == items[:2]


@pytest.mark.parametrize("window", [None, 50, 1_000, 100_000])
@pytest.mark.parametrize("width", [1, 7, 60])
def test_the_bar_is_as_wide_as_its_room(window: int | None, width: int) -> None:
    line = window_bar({"system": 1, "user": 300, "images": 1, "results": 98}, window, width)
    assert sum([len(text) for text, _ in line]) == width


def test_a_bar_of_a_known_window_shows_what_is_free() -> None:
    (taken, _), (free, roles) = window_bar({"user": 250}, 1_000, 40)
    assert (len(taken), len(free)) == (10, 30)
    assert roles == "faint"


def test_without_colours_the_shade_alone_tells_each_part() -> None:
    line = window_bar(dict.fromkeys(PART_ROLES, 100), 2_000, 80)
    shades = [text[0] for text, _ in line]
    assert len(shades) == len(set(shades)) == len(PART_ROLES) + 1
