"""All ways to ask find the same: `search`, `list`, `stats`, `labels`, the browser's helper, a reading of the files."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.cli import main
from sessionbrowse.config import cache_dir
from sessionbrowse.model.search.query import BadSearch, parse_question
from sessionbrowse.services.background.search_messages import Find, SearchStatus
from sessionbrowse.services.list.gather import Snapshot, gather_summaries
from sessionbrowse.services.search.searcher import Searcher
from tests.services.background.test_search_server import asking
from tests.services.search.test_searcher import random_query, random_store
from tests.support.index_support import scope_of


@pytest.mark.slow
@pytest.mark.parametrize("queries", [12, pytest.param(100, marks=pytest.mark.stress)])
def test_every_door_finds_the_sessions_that_a_reading_of_the_files_finds(
    tmp_path: Path, own_home: Path, capfd: pytest.CaptureFixture[str], queries: int
) -> None:
    dice = random.Random("doors")
    store = tmp_path / "store"
    random_store(store, dice)
    root = ("--root", str(store))
    assert main(["index", *root]) == 0
    capfd.readouterr()

    def told(command: str, *arguments: str) -> Any:
        status = main([command, "--json", *root, *arguments])
        out = capfd.readouterr().out
        assert status == 0, command
        return json.loads(out)

    by_files = Searcher(Snapshot(gather_summaries(scope_of(store, hidden=True, archived=True))))
    paid = {row["key"] for row in told("stats", "--by", "session")["rows"]}
    some = 0
    with asking(store, cache_dir()) as helper:
        helper.until(SearchStatus, lambda status: not status.reading)
        asked = 0
        while asked < queries:
            query = random_query(dice)
            try:
                question = parse_question(query)
            except BadSearch:
                continue
            if question.is_empty or question.is_about_labels or not query.strip():
                continue
            asked += 1
            hits = {hit.path for hit in by_files.find(question) if hit.match != "typo"}
            some += bool(hits)
            searched = told("search", "--sort", "newest", "--limit", "1000", "--", query)
            assert {each["path"] for each in searched if each["match"] != "typo"} == hits, query
            helper.ask(Find(asked, query, limit=1000, newest=True))
            assert {hit.path for hit in helper.hits(asked) if hit.match != "typo"} == hits, query
            paths = set(by_files.paths_of(question))
            assert {each["path"] for each in told("list", "--sort", "name", "--hidden", "--", query)} == paths, query
            counted = {row["key"] for row in told("stats", "--by", "session", "--", query)["rows"]}
            assert counted == paid & paths, query
            for_agent = told("search", "--for-agent", "--sort", "newest", "--", query)["result"]
            assert {each["path"] for each in for_agent if each["match"] != "typo"} <= hits, query
            assert bool(for_agent) == bool(searched), query
        for number, query in enumerate(labels_asked_for(by_files, dice, queries), queries + 1):
            helper.ask(Find(number, query, limit=1000, newest=True))
            marked = {(hit.path, hit.entry_id) for hit in helper.hits(number)}
            assert {(row["path"], row["entry_id"]) for row in told("labels", "--", query)} == marked, query
            question = parse_question(query)
            paths = {each.path for each in by_files.summaries if each.labels and by_files.fits(question, each)}
            found = {path for path, _ in marked}
            assert found == paths or (question.states and found < paths), query
            for command in (("list", "--hidden"), ("search", "--limit", "1000")):
                assert {each["path"] for each in told(*command, "--", query)} == found, query
    assert some > queries / 4


def labels_asked_for(searcher: Searcher, dice: random.Random, count: int) -> Iterator[str]:
    """Yield queries for labels, limited to a project, an agent or a state as people limit them."""
    labelled = [each for each in searcher.summaries if each.labels]
    for _ in range(count):
        session = dice.choice(labelled)
        value = dice.choice(["", dice.choice(session.labels).split()[0][:4].strip('"')])
        limit = dice.choice(
            ["", f'project:"{session.cwd}"', f"project:{Path(session.cwd).name}", "agent:pi", "branch:abandoned"]
        )
        yield f"label:{value} {limit}".strip()
