"""Which sessions fold under others, and what a list shows of them."""

from __future__ import annotations

from sessionbrowse.model.listing.families import families, folded, is_stub
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.own.pins import Pins
from sessionbrowse.tui.data.library import Folding, Library
from tests.support.tui_support import NOW_MS, listed, summary

HOUR = 3_600_000
DAY = 24 * HOUR


def shown(*ordered: Summary) -> list[tuple[str, list[str]]]:
    return [(head.path, [other.path for other in others]) for head, others in folded(ordered, families(list(ordered)))]


def test_forks_fold_under_the_member_that_comes_first_in_the_list():
    parent = summary("/parent")
    fork = summary("/fork", parent_path="/parent", parent_session="/parent")
    deeper = summary("/deeper", parent_path="/fork", parent_session="/fork")
    other = summary("/other")
    assert shown(deeper, other, parent, fork) == [("/deeper", ["/parent", "/fork"]), ("/other", [])]
    assert shown(parent, fork, deeper, other) == [("/parent", ["/fork", "/deeper"]), ("/other", [])]


def test_forks_of_one_session_that_is_gone_are_together():
    one = summary("/1", parent_session="/gone.jsonl")
    two = summary("/2", parent_session="/gone.jsonl")
    other = summary("/3", parent_session="/else.jsonl")
    assert shown(one, two, other) == [("/1", ["/2"]), ("/3", [])]


def test_a_run_of_a_subagent_never_stands_for_the_session_that_started_it():
    run = summary("/run", hidden=True, parent_path="/main")
    main = summary("/main")
    assert shown(run, main) == [("/main", ["/run"])]


def test_copies_are_told_by_id_and_beginning():
    first = summary("/a", id="s", created=1.0)
    copy = summary("/b", id="s", created=1.0)
    stranger = summary("/c", id="s", created=2.0)
    assert shown(first, copy, stranger) == [("/a", ["/b"]), ("/c", [])]


def test_stubs_of_one_directory_fold_together_and_not_under_real_sessions():
    real = summary("/real", cwd="/p", message_count=5)
    stubs = [summary(f"/{number}", cwd="/p", message_count=number % 2) for number in range(3)]
    elsewhere = summary("/far", cwd="/q", message_count=1)
    assert shown(stubs[0], real, *stubs[1:], elsewhere) == [("/0", ["/1", "/2"]), ("/real", []), ("/far", [])]


def test_what_somebody_marked_or_what_is_broken_is_no_stub():
    assert is_stub(summary("/a", message_count=1))
    for facts in ({"name": "kept"}, {"labels": ("good",)}, {"problem": "torn"}, {"parent_session": "/x"}):
        assert not is_stub(summary("/a", message_count=1, **facts)), facts
    assert not is_stub(summary("/a", message_count=2))


def test_sessions_that_are_each_others_parents_are_one_family():
    one = summary("/1", parent_path="/2", parent_session="/2")
    two = summary("/2", parent_path="/1", parent_session="/1")
    own = summary("/3", parent_path="/3", parent_session="/3")
    assert shown(one, two, own) == [("/1", ["/2"]), ("/3", [])]


def test_a_chain_of_ten_thousand_forks_is_one_family():
    chain = [
        summary(f"/{number}", parent_path=f"/{number - 1}", parent_session="x") if number else summary("/0")
        for number in range(10_000)
    ]
    rows = folded(chain, families(chain))
    assert len(rows) == 1
    assert len(rows[0][1]) == 9_999


# ---- in the list ------------------------------------------------------------------------------------------------


def library(*summaries: Summary) -> Library:
    made = Library()
    made.add(summaries)
    return made


FORK = summary("/fork", name="fork", parent_path="/main", parent_session="/main", modified=NOW_MS - HOUR, cost=1.0)
MAIN = summary("/main", name="main", modified=NOW_MS - 2 * HOUR, cost=9.0)
OLD = summary("/old", name="old", modified=NOW_MS - 40 * DAY)


def test_a_family_shows_its_newest_and_opens_on_request():
    made = library(MAIN, FORK, OLD)
    rows = listed(made, folding=Folding())
    assert [(row.summary.path, row.family, row.is_open) for row in rows] == [("/fork", 1, False), ("/old", 0, False)]
    opened = Folding().flip(made.family("/main"))
    rows = listed(made, folding=opened)
    assert [(row.prefix, row.summary.path, row.family) for row in rows] == [
        ("", "/fork", 1),
        ("╰─", "/main", 0),
        ("", "/old", 0),
    ]
    assert rows[0].is_open
    assert listed(made, folding=opened.flip(made.family("/fork"))) == listed(made, folding=Folding())
    assert len(listed(made, folding=Folding(all_open=True))) == 3
    assert len(listed(made, folding=Folding(all_open=True).flip(made.family("/main")))) == 2


def test_in_another_order_another_member_stands_for_the_family():
    rows = listed(library(MAIN, FORK, OLD), folding=Folding(), sort="cost")
    assert [row.summary.path for row in rows] == ["/main", "/old"]


def test_what_is_pinned_comes_first_and_folds_under_nobody():
    main = summary("/main", id="m", name="main", modified=NOW_MS - 2 * HOUR)
    made = library(main, FORK, OLD)
    made.pins = Pins(own=frozenset([("pi", "m")]))
    rows = listed(made, folding=Folding())
    assert [(row.summary.path, row.pinned, row.family) for row in rows] == [
        ("/main", True, 0),
        ("/fork", False, 0),
        ("/old", False, 0),
    ]


def test_archived_sessions_are_a_list_of_their_own():
    made = library(MAIN, summary("/kept", archived=True, cwd="/a"))
    assert [row.summary.path for row in listed(made)] == ["/main"]
    assert [row.summary.path for row in listed(made, archived=True)] == ["/kept"]
    assert [row.cwd for row in made.projects(archived=True)] == [None, "/a"]


def test_worktrees_of_a_repository_are_one_project():
    made = library(summary("/1", cwd="/src/web"), summary("/2", cwd="/src/web-fix"), summary("/3", cwd="/src/infra"))
    made.know_directories({"/src/web": "/src/web", "/src/web-fix": "/src/web"}, {})
    assert [row.cwd for row in made.projects()] == [None, "/src/infra", "/src/web", "/src/web-fix"]
    made.by_repository = True
    rows = made.projects()
    assert [(row.cwd, row.sessions, row.directories) for row in rows[1:]] == [
        ("/src/infra", 1, ("/src/infra",)),
        ("/src/web", 2, ("/src/web", "/src/web-fix")),
    ]
    assert [row.summary.path for row in listed(made, cwd="/src/web")] == ["/1", "/2"]
