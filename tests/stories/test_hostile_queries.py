"""Queries that attack: operators of FTS, quotes, NUL, 100,000 letters, patterns without end. All are answered soon."""

from __future__ import annotations

import random
import resource
import time
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from sessionbrowse.services.background.search_messages import Find, SearchProgress, SearchRefused, SearchStatus
from tests.services.background.test_search_server import Asked, asking
from tests.support.index_support import append, entry, folder, header, user, write

LIMIT_CPU_SECONDS = 2.0
"""CPU time, because other tests run beside this one; on an idle machine this is the time that a user waits."""
SESSIONS = 30
QUERIES = {
    "operators": "foo AND bar OR NOT baz",
    "near": "NEAR(foo bar, 5)",
    "column": 'text:foo ^bar -baz +qux {a b}: "x" * rowid',
    "stars": "foo* *foo * **",
    "one quote": '"',
    "three quotes": '"""',
    "quotes": 'a"b"c"d\'e\'f',
    "sql": "'; DROP TABLE words; --",
    "brackets": "((((]]]}}",
    "nothing": '""',
    "emoji": "🎉",
    "backslashes": "\\\\ \\0 \\x",
    "nul": "common\x00word \x00",
    "controls": "a\x1b[31mb\r\nc\x7f\u202ed\u2066",
    "surrogate": "foo \udcff\ud800 bar",
    "letters": "a" * 100_000,
    "words": " ".join(f"w{number}" for number in range(20_000)),
    "common words": " ".join(["the quick brown fox"] * 190),
    "phrase": '"' + " ".join(f"w{number}" for number in range(20_000)) + '"',
    "common phrase": '"' + " ".join(["the quick brown fox"] * 190) + '"',
    "CJK": "日本語" * 1_300,
    "accents": "a" + "\u0301" * 3_900,
    "filters": "name:a " * 10_000,
    "label": "label:" + "a" * 100_000,
    "dates": "after:99999-99",
    "far": "before:9999999d",
    "agent": "agent:" + "p" * 10_000,
    "endless": "re:(a+)+$x",
    "endless words": r"re:(\w+\s?)+;;;$",
    "optional": "re:" + "a?" * 3_000 + "a" * 3_000,
    "anything": "re:(.*)*(.*)*(.*)*z9",
    "quadratic": "re:(?P<n>a)(?P=n)*$!",
    "open": "re:" + "(" * 100_000,
    "nested": "re:" + "(" * 5_000 + ")" * 5_000,
    "repeated": "re:a{1,65000}{1,65000}",
    "class": "re:[",
    "empty": "re:",
    "long pattern": "re:" + "x" * 100_000,
}
PIECES = ["AND", "OR", "NOT", "NEAR(", ")", '"', "'", "*", "^", "-", ":", "re:", "name:", "before:", "(", "[", "\x00",
          "\\", "a", "the", "日", "🎉", "\u0301", "--", ";", "{", "}", "role:", "+", "?", "|", "$"]  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store in whose texts patterns find no end."""
    for number in range(SESSIONS):
        path = folder(tmp_path / "store") / f"{number:02}.jsonl"
        talk = [user(str(step), str(step - 1), "the quick brown fox 日本語 " * 40) for step in range(2, 12)]
        write(path, header(f"s{number}"), user("1", None, f"first {'a' * 5_000} common word {number}"), *talk)
        append(path, entry("label", "l", "11", targetId="1", label="a" * 300))
        append(path, entry("session_info", "n", "l", name="a" * 200))
    return tmp_path / "store"


def _cpu_seconds() -> float:
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)


@pytest.mark.parametrize(("command", "indexed"), [("search", True), ("search", False), ("list", True)])
def test_the_command_line_answers_or_says_why_not(
    store: Path, command: str, indexed: bool, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    if indexed:
        main(["index", "--root", str(store)])
        capfdbinary.readouterr()
    for name, query in QUERIES.items():
        began = _cpu_seconds()
        status = main([command, "--json", "--root", str(store), "--", query])
        out, err = capfdbinary.readouterr()
        assert _cpu_seconds() - began <= LIMIT_CPU_SECONDS, name
        assert status in (0, 1), name
        assert b"Traceback" not in err, name
        assert out.startswith(b"[") if status == 0 else (out == b"" and err.count(b"\n") == 1), (name, err[:200])


def test_the_service_behind_the_browser_answers_or_says_why_not(store: Path, tmp_path: Path) -> None:
    main(["index", "--root", str(store)])
    with asking(store, tmp_path / "cache") as asked:
        asked.until(SearchStatus, lambda status: not status.reading)
        for stamp, (name, query) in enumerate(QUERIES.items(), 1):
            began = _cpu_seconds()
            asked.ask(Find(stamp, query))
            _end_of(asked, stamp)
            assert _cpu_seconds() - began <= LIMIT_CPU_SECONDS, name


def test_random_pieces_of_syntax_are_answered(store: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    main(["index", "--root", str(store)])
    dice = random.Random("hostile")
    for _ in range(150):
        query = "".join(dice.choice(["", " "]) + dice.choice(PIECES) for _ in range(dice.randint(1, 8)))
        capfdbinary.readouterr()
        status = main(["search", "--json", "--limit", "5", "--root", str(store), "--", query])
        out, err = capfdbinary.readouterr()
        assert status in (0, 1), query
        assert out.startswith(b"[") if status == 0 else err.count(b"\n") == 1, (query, err)


def _end_of(asked: Asked, stamp: int) -> None:
    """Wait until a search is refused, or has gone as far as it goes."""
    over = time.monotonic() + 60
    while time.monotonic() < over:
        told = asked.until(object, _is_told)
        assert isinstance(told, SearchRefused | SearchProgress)
        if told.stamp != stamp:
            continue
        if isinstance(told, SearchRefused) or told.finished or told.paused or told.stopped or told.problem:
            return
    pytest.fail("no answer")


def _is_told(answer: object) -> bool:
    return isinstance(answer, SearchRefused | SearchProgress)
