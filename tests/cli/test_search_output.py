"""The output of `search`: grouped by session, bounded, and with what the next command needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from tests.support.file_helpers import unmeasured_environ
from tests.support.index_support import answer, folder, header, user, write
from tests.support.story_support import StoryHome


@pytest.fixture
def root(tmp_path: Path) -> Path:
    here = folder(tmp_path)
    for number in range(6):
        entries = [user(f"a{at}", f"a{at - 1}" if at else None, f"lantern {number} {at}") for at in range(5)]
        write(here / f"{number}.jsonl", header(f"session-{number}"), *entries, answer("b", "a4", "done"))
    return tmp_path


def ask(capfdbinary: pytest.CaptureFixture[bytes], *argv: str) -> tuple[int, bytes, str]:
    status = main(["search", *argv])
    out, err = capfdbinary.readouterr()
    return status, out, err.decode()


def test_limit_counts_sessions_and_per_session_hits(capfdbinary, root):
    _, out, _ = ask(capfdbinary, "lantern", "--root", str(root), "--json", "--limit", "2", "--per-session", "4")
    hits = json.loads(out)
    assert [hit["id"] for hit in hits] == [hits[0]["id"]] * 4 + [hits[4]["id"]] * 4
    assert {"match", "score", "copies", "marks"} <= set(hits[0])


def test_fields_are_the_only_ones_printed_and_unknown_ones_are_refused(capfdbinary, root):
    _, out, _ = ask(capfdbinary, "lantern", "--root", str(root), "--json", "--fields", "id,entry_id", "--limit", "1")
    assert {tuple(hit) for hit in json.loads(out)} == {("id", "entry_id")}
    status, out, err = ask(capfdbinary, "lantern", "--fields", "nonsense")
    assert (status, out) == (2, b"")
    assert "nonsense" in err


@pytest.mark.parametrize("most", [2, 3, 50, 300, 700, 2000, 100_000])
def test_max_chars_holds_exactly(capfdbinary, root, most):
    _, out, err = ask(capfdbinary, "lantern", "--root", str(root), "--json", "--max-chars", str(most))
    assert len(out.decode()) <= most
    assert isinstance(json.loads(out), list)
    assert ("left out" in err) == (most < 100_000)
    _, out, err = ask(capfdbinary, "lantern", "--root", str(root), "--max-chars", str(most))
    assert len(out.decode()) <= most
    assert ("left out" in err) == (most < 2000)
    _, out, _ = ask(capfdbinary, "lantern", "--root", str(root), "--for-agent", "--max-chars", str(most))
    assert len(out.decode()) <= most
    assert bool(json.loads(out)) is (most > 100)


def test_less_than_an_empty_array_is_wrong_usage(capfdbinary):
    assert ask(capfdbinary, "lantern", "--max-chars", "1")[:2] == (2, b"")


def test_text_has_a_head_for_each_session_with_its_id_and_hits_with_theirs(capfdbinary, root):
    _, out, _ = ask(capfdbinary, "lantern", "--root", str(root), "--limit", "1")
    head, *hits = out.decode().splitlines()
    assert "session-" in head
    assert "/home/dev/shop" in head
    assert "2 more hits" in head
    assert [line.split()[0] for line in hits] == ["a4", "a3", "a2"]


def test_a_session_without_a_name_is_called_by_its_first_message(capfdbinary, root):
    write(folder(root) / "long.jsonl", header("long"), user("x", None, "beacon\n" + "wick " * 100))
    _, out, _ = ask(capfdbinary, "beacon", "--root", str(root))
    title = out.decode().splitlines()[0].partition("  ")[0]
    assert title.startswith("beacon wick wick")
    assert title.endswith("…")
    assert len(title) <= 80


@pytest.mark.parametrize("command", ["search", "list", "labels", "stats"])
def test_every_command_says_that_an_unfinished_phrase_was_not_searched(capfdbinary, root, command):
    assert main([command, 'lantern "unfinished', "--root", str(root)]) == 0
    assert '"unfinished was not searched: type the closing " of the phrase.' in capfdbinary.readouterr().err.decode()


def test_newest_first_finds_what_words_begin(capfdbinary, root):
    _, out, _ = ask(capfdbinary, "lant", "--root", str(root), "--sort", "newest", "--json", "--per-session", "1")
    assert len(json.loads(out)) == 6


def test_a_query_that_is_absurdly_long_is_refused_in_a_sentence(capfdbinary, root):
    status, out, err = ask(capfdbinary, "a" * 100_000, "--root", str(root))
    assert (status, out) == (1, b"")
    assert "shorten it" in err


def test_nothing_found_names_the_option_that_searches_more(capfdbinary, root):
    status, out, err = ask(capfdbinary, "quokka", "--root", str(root))
    assert (status, out) == (0, b"")
    assert "--tools" in err


def test_a_list_with_a_query_is_ranked_and_says_how_each_row_matches(capfdbinary, tmp_path):
    here = folder(tmp_path)
    write(here / "1.jsonl", header("apart"), user("a", None, "a lantern"), user("b", "a", "a quokka"))
    write(here / "2.jsonl", header("together"), user("a", None, "the lantern of the quokka"))
    assert main(["list", "lantern", "quokka", "--root", str(tmp_path), "--json"]) == 0
    rows = json.loads(capfdbinary.readouterr().out)
    assert [(row["id"], row["match"]) for row in rows] == [("together", "exact"), ("apart", "session")]
    assert all(row["score"] > 0 for row in rows)
    assert main(["list", "lantrn", "--root", str(tmp_path), "--json", "--sort", "best"]) == 0
    out, err = capfdbinary.readouterr()
    assert {row["match"] for row in json.loads(out)} == {"typo"}
    assert "searched instead: lantern" in err.decode()


@pytest.mark.slow
@pytest.mark.parametrize("is_indexed", [True, False])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ([r"re:kka\ssl"], {"said"}),
        (["quokka", "sleeps", "--sort", "name"], {"said"}),
        (["QUÓKKA", "--sort", "name"], {"said", "named"}),
        (["quok", "--sort", "size"], {"said", "named"}),
        (['"quokka sleeps"', "--sort", "cost"], {"said"}),
        (["agent:pi", "role:user", "sleeps", "--sort", "recent"], {"said", "other"}),
        (["re:^/home/dev/sh", "--sort", "recent"], {"said", "named", "other"}),
        (["qokka", "--sort", "name"], set()),
    ],
)
def test_a_list_in_another_order_and_statistics_take_the_matches_of_a_search(
    own_home: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], query, expected, is_indexed
) -> None:
    here = folder(tmp_path)
    paid = answer("b", "a", "it does", ms=1786608002000)
    write(here / "1.jsonl", header("said"), user("a", None, "the quokka\nsleeps"), paid)
    naming = {"type": "session_info", "id": "c", "parentId": "b", "timestamp": "2026-08-13T08:00:01.000Z"}
    write(here / "2.jsonl", header("named"), user("a", None, "hello"), paid, naming | {"name": "A quokka"})
    write(here / "3.jsonl", header("other"), user("a", None, "the quoll sleeps"), paid)
    if is_indexed:
        assert main(["index", "--root", str(tmp_path)]) == 0
        capfdbinary.readouterr()
    assert main(["list", *query, "--root", str(tmp_path), "--json"]) == 0
    assert {row["id"] for row in json.loads(capfdbinary.readouterr().out)} == expected
    words = query[: query.index("--sort")] if "--sort" in query else query
    assert main(["stats", *words, "--by", "session", "--root", str(tmp_path), "--json"]) == 0
    assert {row["id"] for row in json.loads(capfdbinary.readouterr().out)["rows"]} == expected


@pytest.mark.parametrize("words", [["search", "topic"], ["search", "topic", "--sort", "newest"], ["list", "topic"]])
def test_results_that_the_limit_cuts_are_announced(
    own_home: Path, capfd: pytest.CaptureFixture[str], words: list[str]
) -> None:
    story = StoryHome(own_home)
    for number in range(3):
        story.session(story.project("shop"), [f"topic {number}", "Yes."])
    assert main([*words, "--limit", "2"]) == 0
    assert "More sessions match; a larger --limit shows them." in capfd.readouterr().err
    assert main([*words, "--limit", "3"]) == 0
    assert "More sessions" not in capfd.readouterr().err


def test_a_search_by_the_index_imports_no_more_than_it_needs(tmp_path: Path) -> None:
    write(folder(tmp_path) / "a.jsonl", header("a"), user("1", None, "hello world"))
    own = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_STATE_HOME": str(tmp_path / "state")}
    env = {**unmeasured_environ(), **own}
    program = [sys.executable, "-X", "importtime", "-m", "sessionbrowse"]
    outputs = [
        subprocess.run(
            [*program, *words, "--root", str(tmp_path)], capture_output=True, env=env, check=True, timeout=60
        )
        for words in (["index"], ["search", "hello"])
    ]
    imported = {line.split("|")[-1].strip() for line in outputs[1].stderr.decode().splitlines()}
    assert b"hello world" in outputs[1].stdout
    assert "sessionbrowse.services.search.ranking" in imported
    for name in ("sessionbrowse.model.context.build", "sessionbrowse.store.read.session_file", "textual"):
        assert name not in imported, name
