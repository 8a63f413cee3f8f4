"""Which answer made a call: the lowest row of the tree, known of what a session grew from without a second look."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionbrowse.format.envelope import Envelope
from sessionbrowse.model.session.envelopes import Envelopes
from sessionbrowse.model.tree.row_text import row_text
from sessionbrowse.model.tree.tool_callers import learn_calls
from tests.support.live_support import until
from tests.support.session_files import entry
from tests.support.tree_support import answer, call, message, result, session_of
from tests.support.tui_support import Driven
from tests.tui.shell.test_live import append, live_browser, session, store

TREE = st.lists(
    st.tuples(st.booleans(), st.integers(0, 40), st.lists(st.sampled_from("abc"), max_size=3)), min_size=1, max_size=14
)


def entries_of(tree: list[tuple[bool, int, list[str]]]) -> list[dict[str, Any]]:
    """Answers and results below earlier entries; ids of calls repeat."""
    made: list[dict[str, Any]] = []
    for number, (is_answer, above, calls) in enumerate(tree):
        parent = f"e{above % number}" if number else None
        if is_answer:
            made.append(answer(f"e{number}", parent, "", *[call(one, "ls", {"path": f"{number}"}) for one in calls]))
        else:
            made.append(result(f"e{number}", parent, calls[0] if calls else "a"))
    return made


@given(tree=TREE, grown=st.integers(0, 14))
def test_a_session_that_grew_names_the_calls_that_one_read_anew_names(
    tmp_path_factory: pytest.TempPathFactory, tree: list[tuple[bool, int, list[str]]], grown: int
) -> None:
    folder, entries = tmp_path_factory.mktemp("grown"), entries_of(tree)
    before = session_of(folder, *(entries[: len(entries) - grown] or entries))
    learn_calls(before)
    after = session_of(folder, *entries)
    learn_calls(after, before)
    anew = session_of(folder, *entries)
    assert [row_text(after, at) for at in range(len(entries))] == [row_text(anew, at) for at in range(len(entries))]


def test_only_the_answers_that_a_session_grew_by_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    many = Envelopes.many

    def noted(self: Envelopes, indexes: Sequence[int]) -> Iterator[tuple[int, Envelope]]:
        read.extend(indexes)
        return many(self, indexes)

    entries = [
        answer("a", None, "", call("c", "ls", {})),
        result("r", "a", "c"),
        answer("b", "r", "", call("c", "ls", {})),
    ]
    more = [message("user", "u", "b", content="on"), answer("d", "u", "", call("x", "ls", {})), result("s", "d", "x")]
    monkeypatch.setattr(Envelopes, "many", noted)
    before = session_of(tmp_path, *entries)
    learn_calls(before)
    assert read == [0, 2]
    learn_calls(session_of(tmp_path, *entries, *more), before)
    assert read == [0, 2, 4]
    other = session_of(tmp_path, *[{**entry, "id": f"{entry['id']}2"} for entry in entries])
    learn_calls(other, before)
    assert read == [0, 2, 4, 0, 2], "another file at its place is read from its beginning"


def shows(driven: Driven, words: str) -> bool:
    return words in driven.words("#tree")


async def test_the_answers_of_a_session_that_grows_are_read_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers: set[str] = set()
    many = Envelopes.many

    def noted(self: Envelopes, indexes: Sequence[int]) -> Iterator[tuple[int, Envelope]]:
        readers.add(threading.current_thread().name)
        return many(self, indexes)

    monkeypatch.setattr(Envelopes, "many", noted)
    root = store(tmp_path, 1)
    path = session(root, 0)

    def grown(name: str, parent: str) -> bytes:
        # An id that is there more than once is why all answers are asked.
        ids = [f"call-{name}", "twice"]
        content = [{"type": "toolCall", "id": one, "name": "ls", "arguments": {"path": f"/{name}"}} for one in ids]
        made = {"role": "assistant", "content": content, "stopReason": "toolUse", "timestamp": 1_786_608_000_000}
        told = {"role": "toolResult", "toolCallId": f"call-{name}", "toolName": "ls", "content": [], "timestamp": 1}
        return entry("message", name, parent, message=made) + entry("message", f"{name}-r", name, message=told)

    append(path, grown("b", "a"))
    async with live_browser(root) as driven:
        await driven.press("enter")
        await until(lambda: driven.screen_name == "session" and driven.row_list("#tree").count == 2)
        for name, parent in (("c", "b-r"), ("d", "c-r"), ("e", "d-r")):
            append(path, grown(name, parent))
            await until(partial(shows, driven, f"[ls: /{name}]"))
        await driven.settle()
    assert readers
    assert threading.main_thread().name not in readers
