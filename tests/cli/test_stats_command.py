"""`stats`: its options, its text, its JSON and its CSV."""

from __future__ import annotations

import csv
import io
import json
from argparse import ArgumentTypeError
from datetime import datetime
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from sessionbrowse.cli.commands.stats import csv_text, span_of
from sessionbrowse.cli.parser import moment
from tests.support.session_files import answer, header, user

NOW = datetime(2026, 11, 23, 15, 30)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for name, cwd, text in (("a", "/w/shop", "fix login"), ("b", "/w/bank", "=cmd()")):
        folder = tmp_path / "s" / "sessions" / f"--w-{name}--"
        folder.mkdir(parents=True)
        lines = header(id=name, cwd=cwd) + user("1", None, text) + answer("2", "1", second=ord(name))
        (folder / f"{name}.jsonl").write_bytes(lines)
        (folder / f"{name}-copy.jsonl").write_bytes(lines)
    return tmp_path / "s"


def asked(store: Path, capfd: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["stats", *options, "--root", str(store)]) == 0
    return capfd.readouterr().out


def test_the_json_has_the_documented_keys(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = json.loads(asked(store, capfd, "--json"))
    assert set(found) == {"by", "since", "until", "rows_left_out", "total", "rows"}
    sums = {"requests", "input", "output", "cache_read", "cache_write", "reasoning", "tokens", "cost"}
    sums |= {"unpriced_requests", "kept", "abandoned", "compaction", "subagents", "undecided", "unrecorded", "copies"}
    assert set(found["total"]) == sums
    assert set(found["rows"][0]) == sums | {"key", "name", "sessions", "machine"}
    assert (found["total"]["cost"], found["total"]["copies"]["cost"]) == ("0.50", "0.50")
    more = {"session": {"path", "id", "agent_total"}, "branch": {"path", "leaf_id"}, "family": {"path"}}
    for by, keys in more.items():
        row = json.loads(asked(store, capfd, "--json", "--by", by))["rows"][0]
        assert set(row) == sums | {"key", "name", "sessions", "machine"} | keys


def test_a_query_a_directory_and_times_choose_sessions(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def requests(*options: str) -> int:
        return int(json.loads(asked(store, capfd, "--json", *options))["total"]["requests"])

    assert requests() == 2
    assert requests("login") == requests("--cwd", "/w/shop") == 1
    assert requests("login", "--cwd", "/w/bank") == 0
    assert requests("--since", "2026-08-13") == requests("--until", "2026-08-13") == 2
    assert requests("--since", "2026-08-15") == requests("--until", "2026-08-11") == 0


def test_the_text_is_a_table_with_a_total_and_says_what_is_not_in_it(
    store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["stats", "--limit", "1", "--root", str(store)]) == 0
    out, err = capfd.readouterr()
    rows = [each.split("\t") for each in out.splitlines()]
    assert [row[0] for row in rows] == ["$0.25", "$0.50"]
    assert rows[-1][-1] == "total, with 1 row left out by --limit"
    assert "2 copies of model requests, $0.50, are not counted again" in err


def test_the_csv_is_safe_for_spreadsheets(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(asked(store, capfd, "--csv", "--by", "session", "--sort", "name"))))
    assert [row["name"] for row in rows] == ["'=cmd()", "'=cmd()", "fix login", "fix login"]
    assert sorted(row["cost"] for row in rows) == ["", "", "0.25", "0.25"]
    assert rows[0]["agent_total_cost"] == "0.25"
    assert csv_text([]).startswith("key,name,sessions,")
    assert csv_text([{"key": 'a"b,c\nd', "cost": "-1"}]) == 'key,cost\r\n"a""b,c\nd",-1\r\n'


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("2026-11-01", "2026-11-01 00:00", "2026-11-02 00:00"),
        ("20261101", "2026-11-01 00:00", "2026-11-02 00:00"),
        ("2026-11-01T10:00", "2026-11-01 10:00", "2026-11-01 10:00"),
        ("7d", "2026-11-16 15:30", "2026-11-16 15:30"),
        ("3w", "2026-11-02 15:30", "2026-11-02 15:30"),
        ("today", "2026-11-23 00:00", "2026-11-24 00:00"),
        ("yesterday", "2026-11-22 00:00", "2026-11-23 00:00"),
    ],
)
def test_a_when_is_a_local_time(text: str, begin: str, end: str) -> None:
    assert f"{moment(text, NOW):%Y-%m-%d %H:%M}" == begin
    assert f"{moment(text, NOW, is_end=True):%Y-%m-%d %H:%M}" == end
    span = span_of(text, text, NOW)
    assert span.since is not None
    assert span.until is not None
    assert span.since <= span.until


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "d", "٣d", "99999999999d", "9999999w", "2026-11-01T25:00"])
def test_another_when_is_wrong_usage(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ArgumentTypeError):
        moment(text, NOW)
    assert main(["stats", "--since", text]) == 2
    assert "is not a time" in capfd.readouterr().err


def test_a_day_whose_end_is_after_the_last_year_is_wrong_usage(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "--until", "9999-12-31"]) == 2
    assert "--until: '9999-12-31' is not a time" in capfd.readouterr().err
