"""The sentence of an empty session list says nothing that the next rows may refute."""

from __future__ import annotations

from sessionbrowse.services.background.first_rows import make_first_rows
from sessionbrowse.tui.data.library import Library
from sessionbrowse.tui.data.list_state import ListState
from sessionbrowse.tui.lists.rows import no_sessions_sentence
from tests.support.tui_support import summary


def test_that_no_session_has_a_name_is_told_only_when_more_than_the_first_rows_are_here() -> None:
    library = Library()
    library.use_first_rows(make_first_rows([summary("/a.jsonl")], "newest"))
    named = ListState(library)
    named.named = True
    assert no_sessions_sentence(named, str) == "Reading sessions …"
    library.drop_first_rows()
    assert no_sessions_sentence(named, str).startswith("No sessions with a name in this list.")
