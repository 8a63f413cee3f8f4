"""Resuming from the browser: where the settings say, from an entry, and when the directory is gone."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.config import CustomCommand, ResumeSettings, Settings
from sessionbrowse.services.clean.doctor import examine
from sessionbrowse.services.resume.plan import ResumeCommand
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.tui.app import BrowseApp
from tests.services.resume.test_launch import Tmux, agent, needs_tmux, until_there
from tests.support.tui_support import Driven, browsing, demo_options


@pytest.fixture
def told(tmp_path: Path) -> Path:
    return tmp_path / "told"


@pytest.fixture
def store(tmp_path: Path, told: Path) -> dict[str, Any]:
    """The demo's sessions, and a stand-in for pi on the path."""
    programs = tmp_path / "bin"
    programs.mkdir()
    agent(programs)
    environ = {"PATH": f"{programs}:/usr/bin:/bin", "TOLD": str(told), "HOME": str(tmp_path)}
    options = demo_options(tmp_path / "demo")
    return {**options, "environ": environ, "demo": options["roots"][0]}


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    server = Tmux(tmp_path)
    yield server
    server.ask("kill-server")


@pytest.fixture
def lent(monkeypatch: pytest.MonkeyPatch) -> list[ResumeCommand]:
    """The commands that were given the terminal: there is none to lend in here."""
    commands: list[ResumeCommand] = []
    monkeypatch.setattr(BrowseApp, "lend_terminal", lambda app, command: commands.append(command))
    return commands


def with_settings(store: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return {**store, "settings": Settings(scope="all", **settings)}


async def choose(browser: Driven, text: str) -> None:
    """Go to an answer of the dialog by its words, and take it."""
    rows = browser.rows("#dialog-rows")
    at = next((number for number, row in enumerate(rows) if text in row), None)
    assert at is not None, rows
    await browser.press("home", *["down"] * at, "enter")


async def test_r_gives_the_agent_the_terminal(store: dict[str, Any], lent: list[ResumeCommand]) -> None:
    async with browsing(**store) as browser:
        await browser.press("down", "r")
        key = browser.row_list("#sessions").key
    assert [command.argv for command in lent] == [("pi", "--session", key)]
    assert lent[0].cwd.endswith("webshop")


async def test_r_offers_to_repair_a_session_on_which_the_agent_stops(
    store: dict[str, Any], lent: list[ResumeCommand]
) -> None:
    async with browsing(**store) as browser:
        await browser.press("down")
        path = Path(str(browser.row_list("#sessions").key))
        path.write_bytes(re.sub(rb'"usage":\{[^{}]*\{[^{}]*\}[^{}]*\},', b"", path.read_bytes(), count=1))
        await browser.press("r")
        assert "stops with an error when it draws this message" in " ".join(browser.screen_text().split())
        assert lent == []
        await choose(browser, "Repair the session")
        await browser.until(lambda: lent)
    assert [command.argv for command in lent] == [("pi", "--session", str(path))]
    assert all(one.kind != "odd-entry" for one in examine(str(path), "pi").damage)


@needs_tmux
@pytest.mark.parametrize("way", ["tmux-window", "tmux-split"])
async def test_r_opens_tmux_where_the_settings_say_so_and_the_browser_stays(
    store: dict[str, Any], tmux: Tmux, told: Path, way: Any
) -> None:
    store["environ"] |= tmux.environ | {"PATH": store["environ"]["PATH"]}
    tmux.ask("set-environment", "-g", "TOLD", str(told))
    async with browsing(**with_settings(store, resume=ResumeSettings(where=way))) as browser:
        await browser.press("down", "r")
        key = browser.row_list("#sessions").key
        assert until_there(told).splitlines()[2:] == ["--session", key]
        assert browser.toasts()[-1].startswith("pi resumes ")
        assert browser.screen_name == "browse"


async def test_r_starts_the_command_of_the_settings(store: dict[str, Any], told: Path) -> None:
    resume = ResumeSettings(where="command", command=("env", "PI_DIR=mine", "{argv}"))
    async with browsing(**with_settings(store, resume=resume)) as browser:
        await browser.press("down", "r")
        key = browser.row_list("#sessions").key
        assert until_there(told).splitlines()[1:] == ["mine", "--session", key]
        assert "Started env." in browser.toasts()


async def test_a_way_that_there_is_not_says_so_and_which_key_offers_others(store: dict[str, Any]) -> None:
    async with browsing(**with_settings(store, resume=ResumeSettings(where="tmux-split"))) as browser:
        await browser.press("down", "r")
        assert browser.toasts() == ["Not in tmux. R offers other ways."]


async def test_the_other_ways_are_offered_with_why_some_are_none(
    store: dict[str, Any], lent: list[ResumeCommand]
) -> None:
    async with browsing(**store) as browser:
        await browser.press("down", "R")
        shown = browser.words("#dialog-rows")
        assert "New tmux window" in shown
        assert "Not in tmux." in shown
        assert "From this entry" not in shown
        await choose(browser, "Copy the command")
        assert browser.app.clipboard.startswith("cd ")
        assert "pi --session" in browser.app.clipboard
        await browser.press("R")
        await choose(browser, "Here, then return")
        assert len(lent) == 1
        await browser.press("R", "escape")
        assert len(lent) == 1


async def test_an_entry_is_checked_out_and_the_agent_resumes_there(
    store: dict[str, Any], lent: list[ResumeCommand]
) -> None:
    async with browsing(**store) as browser:
        await browser.press("down", "enter", "home", "down", "down")
        entry_id = browser.app.screen.entry_id  # type: ignore[attr-defined]
        path = browser.app.screen.summary.path  # type: ignore[attr-defined]
        await browser.press("R")
        await choose(browser, "From this entry ")
    session = open_session(path)
    assert session.leaf is not None
    resumes_at = session.parents[session.leaf]
    entry = session.index_by_id[entry_id]
    assert resumes_at in (entry, session.parents[entry])
    assert [command.argv for command in lent] == [("pi", "--session", path)]


async def test_an_entry_is_forked_and_the_agent_resumes_the_fork(
    store: dict[str, Any], lent: list[ResumeCommand]
) -> None:
    async with browsing(**store) as browser:
        await browser.press("down", "enter", "home", "down", "down")
        path = browser.app.screen.summary.path  # type: ignore[attr-defined]
        before = Path(path).read_bytes()
        await browser.press("R")
        await choose(browser, "In a fork from this entry")
        assert browser.app.screen.summary.path == lent[0].argv[2]  # type: ignore[attr-defined]
        assert "This is the new session." in browser.screen_text()
    assert Path(path).read_bytes() == before
    assert len(lent) == 1
    forked = open_session(lent[0].argv[2])
    assert forked.path != path
    assert forked.header is not None
    assert forked.header.parent_session == path


async def test_nothing_is_written_for_an_agent_that_is_not_installed(store: dict[str, Any]) -> None:
    store["environ"]["PATH"] = "/nowhere"
    files = {path: path.read_bytes() for path in Path(store["home"]).rglob("*.jsonl")}
    async with browsing(**store) as browser:
        await browser.press("down", "enter", "home", "down", "down")
        for way in ("From this entry ", "In a fork from this entry"):
            await browser.press("R")
            await choose(browser, way)
            assert "pi is not installed here." in browser.toasts()[-1]
        await browser.press("R")
        await choose(browser, "Copy the command")
        assert "pi --session" in browser.app.clipboard
        await browser.press("x", "n", "o")
        await browser.until(lambda: "and resume in omp" in browser.screen_text())
        await choose(browser, "and resume in omp")
        assert browser.toasts()[-1] == "omp is not installed here."
    assert {path: path.read_bytes() for path in Path(store["home"]).rglob("*.jsonl")} == files


async def test_an_entry_is_checked_out_after_the_question_about_a_missing_directory(
    store: dict[str, Any], lent: list[ResumeCommand]
) -> None:
    async with browsing(**store) as browser:
        await browser.press("down", "enter", "home", "down", "down")
        path = Path(browser.app.screen.summary.path)  # type: ignore[attr-defined]
        before = path.read_bytes()
        shutil.rmtree(f"{store['home']}/webshop")
        await browser.press("R")
        await choose(browser, "From this entry ")
        assert "no longer exists." in browser.words("#dialog-text")
        await choose(browser, "Fork to another directory")
        assert "Copies the branch" in browser.words("#dialog-hint")
        await browser.press("escape")
        assert path.read_bytes() == before
        await browser.press("R")
        await choose(browser, "From this entry ")
        await choose(browser, "Resume in another directory")
        await browser.type(store["home"])
        await browser.press("enter")
    assert path.read_bytes() != before
    assert [command.cwd for command in lent] == [store["home"]]


async def gone(browser: Driven, home: str) -> None:
    """Put the cursor on a session whose directory is gone, and resume it."""
    await browser.press("slash")
    await browser.type("jQuery")
    await browser.press("escape", "home", "r")


async def test_where_the_directory_is_gone_another_one_can_be_chosen(
    store: dict[str, Any], lent: list[ResumeCommand]
) -> None:
    async with browsing(**store) as browser:
        await gone(browser, store["home"])
        assert "no longer exists." in browser.words("#dialog-text")
        await choose(browser, "Resume in another directory")
        await browser.type(f"{store['home']}/webshop")
        await browser.press("enter")
        assert [command.cwd for command in lent] == [f"{store['home']}/webshop"]


async def test_where_the_directory_is_gone_its_sessions_can_be_told_the_new_one(store: dict[str, Any]) -> None:
    async with browsing(**store) as browser:
        await gone(browser, store["home"])
        await choose(browser, "Relocate all")
        assert "Relocate" in browser.screen_text()


async def test_where_the_directory_is_gone_a_fork_elsewhere_can_be_resumed(
    store: dict[str, Any], lent: list[ResumeCommand]
) -> None:
    async with browsing(**store) as browser:
        await gone(browser, store["home"])
        await choose(browser, "Fork to another directory")
        await browser.press("ctrl+u")
        await browser.type(f"{store['home']}/webshop")
        await browser.press("enter")
        assert [command.cwd for command in lent] == [f"{store['home']}/webshop"]


# ---- the user's own commands --------------------------------------------------------------------------------------


async def test_an_own_command_runs_in_the_background_and_says_what_it_said(store: dict[str, Any]) -> None:
    own = CustomCommand(name="Count", key="ctrl+e", run="wc -l < {path}; pwd; echo {agent}", output="toast")
    async with browsing(**with_settings(store, commands=(own,))) as browser:
        await browser.press("down", "ctrl+e")
        await browser.until(lambda: browser.toasts())
        lines = Path(str(browser.row_list("#sessions").key)).read_text().count("\n")
        assert browser.toasts()[-1].split("\n") == [str(lines), "~/webshop", "pi"]


async def test_an_own_command_gets_the_terminal_with_its_words(
    store: dict[str, Any], lent: list[ResumeCommand]
) -> None:
    own = CustomCommand(name="Edit", key="f8", run=("vi", "{path}", "+/{entry}"), where="session")
    async with browsing(**with_settings(store, commands=(own,))) as browser:
        await browser.press("down", "f8")
        assert lent == []
        await browser.press("enter", "f8")
        entry_id = browser.app.screen.entry_id  # type: ignore[attr-defined]
        path = browser.app.screen.summary.path  # type: ignore[attr-defined]
    assert lent[0].argv == ("vi", path, f"+/{entry_id}")
    assert lent[0].env["SESSIONBROWSE_ENTRY"] == entry_id


async def test_own_commands_stand_in_help_and_palette_with_why_they_cannot_run(store: dict[str, Any]) -> None:
    own = CustomCommand(name="At [entry]", run=("x", "{entry}"))
    async with browsing(**with_settings(store, commands=(own,)), size=(120, 100)) as browser:
        await browser.press("question_mark")
        text = "\n".join(browser.rows("#window-text"))
        assert "Your own commands" in text
        assert "At [entry]: x {entry}" in text
        await browser.press("escape", "colon")
        await browser.type("at entry")
        assert "There is no entry with an id under the cursor" in browser.rows("#palette-rows")[0]


async def test_keys_of_own_commands_that_clash_are_named(store: dict[str, Any]) -> None:
    own = (CustomCommand(name="One", key="ctrl+s", run="x"), CustomCommand(name="Two", key="^s", run="y"))
    async with browsing(**with_settings(store, commands=own)) as browser:
        clashes = [toast for toast in browser.toasts() if "means both" in toast]
        assert any("'One' and 'Two'" in clash for clash in clashes)
        assert any("'One' and 'Sort'" in clash for clash in clashes)


async def test_an_own_command_that_fails_says_how(store: dict[str, Any]) -> None:
    own = CustomCommand(name="Break", key="f8", run="echo [no]; exit 2", output="toast")
    async with browsing(**with_settings(store, commands=(own,))) as browser:
        await browser.press("f8")
        await browser.until(lambda: browser.toasts())
        assert browser.toasts() == ["Break ended with status 2. [no]"]
