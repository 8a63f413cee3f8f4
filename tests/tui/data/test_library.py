"""The rows of the first screen: folders, order, threads, filter."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from sessionbrowse.model.search.query import parse_search
from sessionbrowse.services.background.first_rows import make_first_rows
from sessionbrowse.store.own.pins import Pins
from sessionbrowse.tui.data.library import Library, SessionRow, same_names, with_scattered_letters
from tests.support.tui_support import NOW_MS, listed, summary

HOUR = 3_600_000


def library(*summaries: object, here: str | None = None) -> Library:
    made = Library(here=here)
    made.add(summaries)  # type: ignore[arg-type]
    return made


def titles(rows: Sequence[SessionRow]) -> list[str]:
    return [row.summary.title for row in rows]


WEB = summary("/a.jsonl", cwd="/home/u/web", name="Refactor auth", modified=NOW_MS - HOUR, cost=2.0, bytes=10)
FIX = summary("/b.jsonl", cwd="/home/u/web", first_message="fix the flaky test", parent_path="/a.jsonl")
INFRA = summary("/c.jsonl", cwd="/srv/infra", first_message="Terraform drift", modified=NOW_MS - 3 * HOUR, bytes=500)
STAGE = summary("/d.jsonl", cwd="/srv/infra", first_message="stage 2", hidden=True, modified=NOW_MS - 2 * HOUR)


def test_folders_come_by_last_activity_below_all_and_here() -> None:
    rows = library(WEB, FIX, INFRA, STAGE).projects()
    assert [(row.cwd, row.sessions) for row in rows] == [(None, 3), ("/home/u/web", 2), ("/srv/infra", 1)]
    rows = library(WEB, FIX, INFRA, here="/srv/infra").projects()
    assert [row.cwd for row in rows] == [None, "/srv/infra", "/home/u/web"]
    assert rows[1].is_here


def test_folders_are_filtered_by_their_path() -> None:
    rows = library(WEB, FIX, INFRA).projects("infra")
    assert [row.cwd for row in rows] == [None, "/srv/infra"]


def test_sessions_are_shown_newest_first_and_by_folder() -> None:
    made = library(INFRA, WEB, FIX, STAGE)
    assert titles(listed(made)) == ["fix the flaky test", "Refactor auth", "Terraform drift"]
    assert titles(listed(made, cwd="/srv/infra")) == ["Terraform drift"]
    assert titles(listed(made, cwd="/srv/infra", hidden=True)) == ["stage 2", "Terraform drift"]
    assert titles(listed(made, named=True)) == ["Refactor auth"]


def test_other_orders() -> None:
    made = library(INFRA, WEB, FIX)
    assert titles(listed(made, sort="cost"))[0] == "Refactor auth"
    assert titles(listed(made, sort="size"))[0] == "Terraform drift"
    assert titles(listed(made, sort="name"))[0] == "Refactor auth"


def test_a_thread_that_holds_a_pinned_session_comes_first() -> None:
    made = library(WEB, replace(FIX, id="fix"), replace(INFRA, modified=NOW_MS))
    assert titles(listed(made, sort="threaded"))[0] == "Terraform drift"
    made.pins = Pins(own=frozenset([("pi", "fix")]))
    rows = listed(made, sort="threaded")
    assert titles(rows) == ["Refactor auth", "fix the flaky test", "Terraform drift"]
    assert [(row.prefix, row.pinned) for row in rows] == [("", False), ("╰─", True), ("", False)]


def test_forks_hang_on_their_parent_and_carry_it_up_by_their_newest() -> None:
    grandchild = summary("/e.jsonl", name="deeper", parent_path="/b.jsonl", modified=NOW_MS - 4 * HOUR)
    sibling = summary("/f.jsonl", name="sibling", parent_path="/a.jsonl", modified=NOW_MS - 5 * HOUR)
    rows = listed(library(INFRA, WEB, FIX, grandchild, sibling), sort="threaded")
    assert [(row.prefix, row.summary.title) for row in rows] == [
        ("", "Refactor auth"),
        ("├─", "fix the flaky test"),
        ("│ ╰─", "deeper"),
        ("╰─", "sibling"),
        ("", "Terraform drift"),
    ]


def test_sessions_that_are_each_others_parents_are_still_shown() -> None:
    one = summary("/1.jsonl", name="one", parent_path="/2.jsonl")
    two = summary("/2.jsonl", name="two", parent_path="/1.jsonl")
    own = summary("/3.jsonl", name="own", parent_path="/3.jsonl")
    assert sorted(titles(listed(library(one, two, own), sort="threaded"))) == ["one", "own", "two"]


def test_a_rescan_forgets_what_is_gone_and_keeps_what_was_found() -> None:
    made = library(WEB, FIX, INFRA)
    made.replace((), ["/b.jsonl"])
    assert titles(listed(made)) == ["Refactor auth", "Terraform drift"]
    assert made.get("/b.jsonl") is None
    assert made.counts() == (2, 2)


def test_the_opening_with_the_saved_rows_ends_with_the_sessions_that_were_found() -> None:
    made = library()
    made.use_first_rows(make_first_rows([WEB, FIX], "newest"))
    made.add([WEB, INFRA])
    made.drop_first_rows()
    assert not made.uses_first_rows
    assert [row.cwd for row in made.projects()] == [None, "/home/u/web", "/srv/infra"]


def test_folders_are_counted_anew_when_sessions_or_repositories_change() -> None:
    known = library(WEB, INFRA)
    assert (known.counts(), [row.cwd for row in known.projects()]) == ((2, 2), [None, "/home/u/web", "/srv/infra"])
    known.add([FIX, STAGE])
    assert (known.counts(), known.counts(hidden=True)) == ((3, 2), (4, 2))
    known.replace([replace(INFRA, modified=NOW_MS)], [FIX.path])
    assert [(row.cwd, row.sessions) for row in known.projects()] == [(None, 2), ("/srv/infra", 1), ("/home/u/web", 1)]
    known.know_directories({"/srv/infra": "/home/u/web"}, {})
    known.by_repository = True
    assert [(row.cwd, row.sessions) for row in known.projects()] == [(None, 2), ("/home/u/web", 2)]
    known.replace((), [INFRA.path])
    assert known.counts() == (1, 1)


def test_folders_of_the_same_name_are_told_apart() -> None:
    assert same_names(["/a/web", "/b/web", "/c/infra"]) == {"/a/web", "/b/web"}


def test_the_rows_follow_pins_and_what_arrives() -> None:
    made = library(summary("/new.jsonl", id="new", modified=NOW_MS), summary("/old.jsonl", id="old", modified=1.0))
    assert [row.summary.id for row in listed(made)] == ["new", "old"]
    made.pins = Pins(own=frozenset({("pi", "old")}))
    assert [row.summary.id for row in listed(made)] == ["old", "new"]
    made.add([summary("/newer.jsonl", id="newer", modified=NOW_MS + 1)])
    assert [row.summary.id for row in listed(made)] == ["old", "newer", "new"]


def test_sessions_fit_a_query_by_name_first_message_directory_id_and_times() -> None:
    made = library(WEB, FIX, replace(INFRA, id="01a2", created=NOW_MS - 9.0 * HOUR), STAGE)
    for text, expected in (
        ("flaky fix", ["fix the flaky test"]),
        ("01a2", ["Terraform drift"]),
        ("project:infra", ["Terraform drift"]),
        ("auth -refactor", []),
        ("name:refactor agent:pi", ["Refactor auth"]),
        ("agent:omp", []),
    ):
        found = made.fitting(parse_search(text), made.newest_first())
        assert [each.title for each in found] == expected, text
    assert "Did you mean infra?" in made.unmatched(parse_search("project:infar"))[0]


def test_letters_in_order_are_found_in_names_and_directories_best_first() -> None:
    found = with_scattered_letters(["rfc"], library(WEB, FIX, INFRA).newest_first())
    assert [each.title for each in found] == ["Refactor auth"]
    found = with_scattered_letters(["nfr"], library(WEB, INFRA).newest_first())
    assert [each.title for each in found] == ["Terraform drift"]
