"""The browser beside its disk monitor: rows from the index, changes that appear, a cursor that stays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sessionbrowse.services.background.monitor_messages import Painted, ScanComplete, SessionsFound
from sessionbrowse.services.background.programs import start_monitor
from sessionbrowse.tui.app import BrowseApp
from sessionbrowse.tui.data.options import BrowseOptions
from sessionbrowse.tui.lists.screen import BrowseScreen
from sessionbrowse.tui.session.screen import SessionScreen
from tests.support.live_support import ThreadMonitor, request_of, until, wait_for_end
from tests.support.session_files import answer, header, user, written
from tests.support.tui_support import NOW_MS, Driven


@asynccontextmanager
async def live_browser(root: Path | None, home: Path | None = None) -> AsyncIterator[Driven]:
    """Run the browser of a root, or of a home without any session, with a disk monitor in a thread."""
    roots = [str(root)] if root is not None else []
    home = home or (root.parent if root is not None else None)
    assert home is not None
    made = BrowseOptions(roots=roots, home=str(home), environ={"HOME": str(home)}, now_ms=lambda: float(NOW_MS))
    monitor = ThreadMonitor(made.request())
    app = BrowseApp(made, None, monitor)
    try:
        async with app.run_test(size=(120, 30), notifications=True) as pilot:
            driven = Driven(app, pilot)
            await until(lambda: (app.library.counts()[0] > 0) == (root is not None) and not app.library.uses_first_rows)
            # The list is empty until the scan has looked for the folder of the current directory.
            await until(lambda: root is None or driven.row_list("#sessions").count > 0)
            await driven.settle()
            yield driven
    finally:
        monitor.kill()


def store(tmp_path: Path, sessions: int = 3) -> Path:
    """A store of pi with sessions that say their number; the highest is the newest."""
    folder = tmp_path / "store" / "sessions" / "--home-dev-webshop--"
    folder.mkdir(parents=True)
    for number in range(sessions):
        written(folder, header(id=f"s-{number}"), user("a", None, f"question {number}", number), name=f"{number}.jsonl")
    return tmp_path / "store"


def session(root: Path, number: int) -> Path:
    """One of its sessions."""
    return root / "sessions" / "--home-dev-webshop--" / f"{number}.jsonl"


def append(path: Path, *lines: bytes) -> None:
    """Append lines as an agent does."""
    with path.open("ab") as file:
        for line in lines:
            file.write(line)


async def test_a_session_that_grows_and_a_new_one_appear_and_the_cursor_stays(tmp_path: Path) -> None:
    root = store(tmp_path)
    for number in range(3):
        # Those of one message only would be folded into one row.
        append(session(root, number), answer("x", "a", "so", number), user("y", "x", "more", number))
    async with live_browser(root) as driven:
        await driven.press("down")
        assert driven.row_list("#sessions").key == str(session(root, 1))
        append(session(root, 0), answer("b", "y", "new", 50))
        await until(lambda: "question 0" in driven.rows("#sessions")[0])
        assert driven.row_list("#sessions").key == str(session(root, 1))
        written(session(root, 0).parent, header(id="s-9"), user("a", None, "brand new", 59), name="9.jsonl")
        await until(lambda: "brand new" in driven.rows("#sessions")[0])
        assert driven.row_list("#sessions").key == str(session(root, 1))
        session(root, 1).unlink()
        await until(lambda: len(driven.app.library) == 3)
        await driven.settle()
        assert driven.row_list("#sessions").key != str(session(root, 1))


async def test_a_session_that_nobody_knew_is_told_to_every_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = store(tmp_path)
    told: set[str] = set()
    monkeypatch.setattr(SessionScreen, "sessions_changed", lambda screen, updates: told.update(updates.paths))
    async with live_browser(root) as driven:
        await driven.press("enter")
        assert not told, "what is read at the start is no news"
        written(session(root, 0).parent, header(id="s-9"), user("a", None, "brand new", 59), name="9.jsonl")
        await until(lambda: str(session(root, 9)) in told)


async def test_rows_of_the_index_are_there_at_the_first_paint(tmp_path: Path) -> None:
    root = store(tmp_path)
    async with live_browser(root):
        pass
    made = BrowseOptions(roots=[str(root)], home=str(root.parent), environ={}, now_ms=lambda: float(NOW_MS))
    monitor = ThreadMonitor(made.request())
    app = BrowseApp(made, None, monitor)
    assert made.has_index
    screen = app.get_default_screen()
    assert app.library.uses_first_rows
    assert app.library.counts() == (3, 1)
    assert [row.sessions for row in app.library.projects()] == [3, 3]
    assert screen.name == "browse"
    monitor.kill()


async def test_the_preview_follows_a_session_that_grows(tmp_path: Path) -> None:
    root = store(tmp_path, 1)
    async with live_browser(root) as driven:
        await until(lambda: "question 0" in driven.words("#preview"))
        append(session(root, 0), answer("b", "a", "just arrived", 50))
        await until(lambda: "just arrived" in driven.words("#preview"))


async def test_the_tree_follows_at_its_end_and_stays_elsewhere(tmp_path: Path) -> None:
    root = store(tmp_path, 1)
    path = session(root, 0)
    append(path, answer("b", "a", "first answer", 2))
    async with live_browser(root) as driven:
        await driven.press("enter")
        await until(lambda: driven.screen_name == "session" and driven.row_list("#tree").count == 2)
        await driven.settle()
        tree = driven.row_list("#tree")
        followed = [tree.key]
        append(path, user("c", "b", "second question", 3))
        await until(lambda: tree.count == 3)
        await driven.settle()
        followed.append(tree.key)
        await driven.press("up")
        append(path, answer("d", "c", "second answer", 4))
        await until(lambda: tree.count == 4)
        await driven.settle()
        followed.append(tree.key)
        assert followed == [1, 2, 1], "on the leaf it goes with it, elsewhere it stays"
        await driven.press("end", "enter")
        append(path, user("e", "d", "third question", 5))
        await until(lambda: tree.count == 5)
        await driven.settle()
        assert tree.key == 3, "an entry whose text has the keys is being read"
        assert "second answer" in driven.words("#view")


async def test_what_is_read_stays_where_it_is_while_the_session_grows(tmp_path: Path) -> None:
    root = store(tmp_path, 1)
    path = session(root, 0)
    long = "\n".join([f"line {number}" for number in range(300)])
    append(path, user("b", "a", long, 2), answer("c", "b", "first answer", 3))
    async with live_browser(root) as driven:
        await driven.press("enter")
        await until(lambda: driven.screen_name == "session" and driven.row_list("#tree").count == 3)
        await driven.press("up", "enter", "pagedown", "pagedown")
        read = driven.rows("#view")
        assert "line 50" in "\n".join(read)
        append(path, user("d", "c", "second question", 4))
        await until(lambda: driven.row_list("#tree").count == 4)
        await driven.settle()
        assert driven.rows("#view") == read


async def test_the_preview_of_a_session_that_grew_while_it_was_open_is_read_when_it_is_seen(tmp_path: Path) -> None:
    root = store(tmp_path, 1)
    path = session(root, 0)
    async with live_browser(root) as driven:
        await until(lambda: "question 0" in driven.words("#preview"))
        below = driven.app.screen
        assert isinstance(below, BrowseScreen)
        await driven.press("enter")
        await until(lambda: driven.screen_name == "session" and driven.row_list("#tree").count == 1)
        await driven.settle()
        asked = below.lane("preview").stamp
        append(path, answer("b", "a", "just arrived", 50))
        await until(lambda: driven.row_list("#tree").count == 2)
        await driven.settle()
        assert below.lane("preview").stamp == asked, "nobody sees it, so nobody reads it"
        await driven.press("escape")
        await until(lambda: driven.screen_name == "browse" and "just arrived" in driven.words("#preview"))


async def test_a_session_that_is_rewritten_shorter_is_shown_as_it_is_now(tmp_path: Path) -> None:
    root = store(tmp_path, 1)
    path = session(root, 0)
    append(path, answer("b", "a", "first answer", 2), user("c", "b", "gone later", 3))
    async with live_browser(root) as driven:
        await driven.press("enter")
        await until(lambda: driven.screen_name == "session" and driven.row_list("#tree").count == 3)
        await driven.settle()
        written(path.parent, header(id="s-0"), user("a", None, "quite another"), name="0.jsonl")
        await until(lambda: driven.row_list("#tree").count == 1)
        await until(lambda: "quite another" in driven.words("#tree"))


async def test_a_session_that_goes_while_it_is_open_is_left_with_a_sentence(tmp_path: Path) -> None:
    root = store(tmp_path, 2)
    async with live_browser(root) as driven:
        await driven.press("enter")
        await until(lambda: driven.screen_name == "session")
        session(root, 1).unlink()
        await until(lambda: driven.screen_name == "browse")
        await until(lambda: any("is gone: its file was moved or deleted" in said for said in driven.toasts()))


async def test_a_question_stands_when_its_session_goes_and_the_session_is_left_behind_it(tmp_path: Path) -> None:
    root = store(tmp_path, 2)
    async with live_browser(root) as driven:
        await driven.press("enter")
        await until(lambda: driven.screen_name == "session" and driven.row_list("#tree").count == 1)
        await driven.press("L")
        question = driven.app.screen
        session(root, 1).unlink()
        await until(lambda: len(driven.app.library) == 1)
        await driven.settle()
        assert driven.app.screen is question
        await driven.press("escape")
        await until(lambda: driven.screen_name == "browse")


async def test_the_line_of_a_filter_counts_what_comes_while_it_stands(tmp_path: Path) -> None:
    root = store(tmp_path, 2)
    async with live_browser(root) as driven:
        await driven.press("slash")
        await driven.type("question")
        assert "2 sessions" in driven.screen_text().splitlines()[-2]
        session(root, 1).unlink()
        await until(lambda: "1 session" in driven.screen_text().splitlines()[-2])


async def test_reading_again_asks_the_disk_monitor(tmp_path: Path) -> None:
    root = store(tmp_path, 1)
    async with live_browser(root) as driven:
        below = session(root, 0).with_suffix("")
        below.mkdir()
        written(below, header(id="s-sub"), user("a", None, "sub"), name="sub.jsonl")
        await driven.run("hidden")
        await until(lambda: len(driven.app.library) == 2)


async def test_a_disk_monitor_that_was_killed_is_named_and_reading_again_starts_another(tmp_path: Path) -> None:
    root = store(tmp_path, 1)
    async with live_browser(root) as driven:
        killed = driven.app.monitor
        assert isinstance(killed, ThreadMonitor)
        killed.far_end.kill()
        await until(lambda: any("changes are no longer seen. F5" in said for said in driven.toasts()))
        await until(lambda: "no longer seen" in driven.screen_text().splitlines()[0])
        written(session(root, 0).parent, header(id="s-1"), user("a", None, "later"), name="1.jsonl")
        await driven.press("f5")
        try:
            await until(lambda: len(driven.app.library) == 2)
            await until(lambda: "no longer seen" not in driven.screen_text().splitlines()[0])
        finally:
            assert driven.app.monitor not in (None, killed)
            driven.app.monitor.kill()


def test_the_monitor_program_sends_all_sessions_and_ends_when_it_is_killed(tmp_path: Path) -> None:
    monitor = start_monitor(request_of(store(tmp_path), tmp_path / "cache"))
    assert monitor is not None
    process = monitor.process_id
    monitor.send(Painted())
    paths: set[str] = set()
    while not isinstance(event := monitor.receive(20), ScanComplete):
        assert isinstance(event, SessionsFound)
        paths |= {summary.path for summary in event.summaries}
    monitor.kill()
    assert len(paths) == 3
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.parametrize("job", ["monitor", "search"])
def test_a_program_ends_when_its_browser_is_killed(tmp_path: Path, job: str) -> None:
    browser = (
        "import os, signal, sys\n"
        "from sessionbrowse.services.background.monitor_messages import MonitorDisk, MonitorEvent\n"
        "from sessionbrowse.services.background.programs import start_job\n"
        "from sessionbrowse.services.background.search_messages import SearchAnswer, SearchSessions\n"
        "job, root = sys.argv[1:]\n"
        "request, answers = {'monitor': (MonitorDisk, MonitorEvent), 'search': (SearchSessions, SearchAnswer)}[job]\n"
        "program = start_job(job, request(home=root, environ={}, cache=root + '/cache', roots=(root,)), answers)\n"
        "assert program.receive(20) is not None\n"
        "print(program.process_id, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", browser, job, str(store(tmp_path))], capture_output=True, text=True, timeout=60
    )
    wait_for_end(int(done.stdout))


async def test_who_was_greeted_sees_the_first_session_and_is_not_greeted_again_when_all_are_gone(
    tmp_path: Path,
) -> None:
    agent = tmp_path / ".pi" / "agent"
    (agent / "sessions").mkdir(parents=True)
    async with live_browser(None, tmp_path) as driven:
        await until(lambda: driven.screen_name == "welcome")
        store(agent.parent, 1).rename(agent / "made")
        (agent / "made" / "sessions" / "--home-dev-webshop--").rename(agent / "sessions" / "--home-dev-webshop--")
        await until(lambda: driven.screen_name == "browse" and driven.row_list("#sessions").count == 1)
        await driven.press("ctrl+d", "enter")
        await until(lambda: not driven.app.library.counts()[0])
        await driven.press("f5")
        await driven.settle()
        assert driven.screen_name == "browse"
        await driven.press("u")
        await until(lambda: driven.row_list("#sessions").count == 1)
