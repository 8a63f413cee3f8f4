"""Which listed sessions are marked as in use, and how a row says that a session is alive."""

from __future__ import annotations

from pathlib import Path

from sessionbrowse.agents.pi import SESSION_DIR
from sessionbrowse.store.write.in_use import sessions_in_use
from sessionbrowse.tui.data.library import SessionRow
from sessionbrowse.tui.lists.rows import RECENT_MS, ListStyle, session_row
from tests.support.change_helpers import Store
from tests.support.tui_support import NOW_MS, summary

NEW = summary("/s/new.jsonl", cwd="/projects/shop", mtime_ns=2)
OLD = summary("/s/old.jsonl", cwd="/projects/shop", mtime_ns=1)
ELSEWHERE = summary("/s/elsewhere.jsonl", cwd="/projects/infra", mtime_ns=3)


def in_use(store: Store) -> set[str]:
    store.environ[SESSION_DIR] = "/s"
    return sessions_in_use([NEW, OLD, ELSEWHERE], store.context.around, str(store.proc))


def test_without_an_agent_nothing_is_in_use(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.process(12, ["vim", "/s/new.jsonl"], cwd="/projects/shop")
    assert in_use(store) == set()


def test_an_agent_has_the_session_open_that_changed_last_where_it_runs(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.process(12, ["pi"], cwd="/projects/shop")
    assert in_use(store) == {"/s/new.jsonl"}


def test_an_agent_of_another_program_speaks_for_none(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.process(12, ["omp"], cwd="/projects/shop")
    assert in_use(store) == set()


def test_a_session_that_is_named_or_held_open_is_the_one(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.process(12, ["pi", "--session", "/s/old.jsonl"], cwd="/projects/shop")
    assert in_use(store) == {"/s/old.jsonl"}


def test_a_row_says_that_its_session_is_in_use_or_changed_just_now() -> None:
    def row(changed_ms: float, in_use: frozenset[str] = frozenset()) -> str:
        session = summary("/s/a.jsonl", name="alive", mtime_ns=int(changed_ms) * 1_000_000, modified=changed_ms)
        style = ListStyle(now_ms=NOW_MS, home="/home/dev", in_use=in_use)
        return "".join([text for text, _ in session_row(SessionRow(session), 60, style)])

    assert "π○  now" in row(NOW_MS - 1000)
    assert "π●  now" in row(NOW_MS - 1000, frozenset(["/s/a.jsonl"]))
    long_ago = row(NOW_MS - RECENT_MS - 60_000)
    assert "○" not in long_ago
    assert "●" not in long_ago


def test_a_backup_is_not_in_use_because_an_agent_runs_in_its_directory(tmp_path: Path) -> None:
    store = Store(tmp_path)
    backup = summary("/backup/new.jsonl", cwd="/projects/shop", mtime_ns=9)
    own = summary(str(store.home / ".pi/agent/sessions/--p--/old.jsonl"), cwd="/projects/shop", mtime_ns=1)
    store.process(12, ["pi"], cwd="/projects/shop")
    assert sessions_in_use([backup, own], store.context.around, str(store.proc)) == {own.path}
    assert sessions_in_use([backup], store.context.around, str(store.proc)) == set()
