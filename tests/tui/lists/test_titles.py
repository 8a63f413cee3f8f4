"""The sentence of an empty session list says nothing that the next rows may refute."""

from __future__ import annotations

from sessionbrowse.services.background.first_rows import make_first_rows
from sessionbrowse.tui.data.library import Library, parse_filter
from sessionbrowse.tui.lists.state import ListState
from sessionbrowse.tui.lists.titles import no_sessions_sentence
from tests.support.tui_support import summary


def test_no_match_and_no_name_are_told_only_when_more_than_the_first_rows_are_here() -> None:
    library = Library()
    library.open(make_first_rows([summary("/a.jsonl")], "recent"))
    filtered, named = ListState(library), ListState(library)
    filtered.filters["sessions"] = parse_filter("deploy")
    named.named = True
    for state in (filtered, named):
        assert no_sessions_sentence(state, True, str) == "Reading sessions …"
    library.opened()
    assert no_sessions_sentence(filtered, True, str).startswith('No session matches "deploy".')
    assert no_sessions_sentence(named, True, str).startswith("No sessions with a name in this list.")
