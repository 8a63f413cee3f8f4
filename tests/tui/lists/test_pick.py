"""`pick`: the interface on standard error, the chosen path on standard output."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.demo import make_demo
from sessionbrowse.tui.data.options import Picking
from tests.support.story_support import StoryHome, message
from tests.support.terminal import ENTER, ESCAPE, Terminal
from tests.support.tui_support import browsing, demo_options
from tests.tui.outside.test_terminal import browser_in_terminal


@pytest.mark.slow
def test_enter_prints_the_path_of_the_session_and_draws_none_of_it(tmp_path: Path) -> None:
    root = make_demo(tmp_path / "demo")
    with browser_in_terminal(["pick", "--root", str(root)], tmp_path, tmp_path, captured=True) as browser:
        browser.wait("chooses a session")
        browser.wait("34 sessions ·")
        browser.press("/auth", ENTER)
        browser.wait_end()
        path = Path(browser.output().decode().removesuffix("\n"))
        assert browser.process.returncode == 0
    assert path.is_file()
    assert "Refactor the auth module" in path.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("keys", ["q", ESCAPE * 3])
def test_leaving_without_a_choice_is_a_failure_without_output(keys: str, tmp_path: Path) -> None:
    root = make_demo(tmp_path / "demo")
    with browser_in_terminal(["pick", "--root", str(root)], tmp_path, tmp_path, captured=True) as browser:
        browser.wait("34 sessions ·")
        browser.press(keys)
        browser.wait_end()
        assert (browser.process.returncode, browser.output()) == (1, b"")


async def test_a_double_click_picks_too_and_a_project_is_only_gone_into(tmp_path: Path) -> None:
    picked: list[str] = []
    pick = Picking(choose=lambda summary, entry_id: picked.append(summary.path))
    async with browsing(**demo_options(tmp_path), pick=pick) as browser:
        await browser.press("left", "down", "enter")
        assert picked == []
        assert browser.row_list("#sessions").has_focus
        await browser.press("enter")
    assert len(picked) == 1
    assert picked[0].endswith(".jsonl")


@pytest.fixture
def story(tmp_path: Path) -> StoryHome:
    """A home with two projects; the first session has an abandoned branch at its second entry."""
    home = StoryHome(tmp_path / "home")
    shop = home.project("webshop")
    moment = datetime(2026, 8, 1, tzinfo=UTC)
    other = [
        message("b01", "e02", "Try it with floats", moment),
        message("b02", "b01", "Rounding.", moment, answers=True),
    ]
    home.session(shop, ["Add a cart page", "Done.", "Now the tests", "They pass."], days_ago=0.1)
    home.session(shop, ["Move prices", "Every price is in cents now."], days_ago=7, more=other)
    home.session(home.project("infra"), ["Renew the certificates", "Renewed."], days_ago=8)
    return home


def session_file(story: StoryHome, number: int) -> Path:
    return next((story.home / ".pi/agent/sessions").glob(f"*/*{number:06d}.jsonl"))


def picker(story: StoryHome, *arguments: str, **how: Any) -> Terminal:
    command = [sys.executable, "-m", "sessionbrowse", "pick", *arguments]
    return Terminal(command, story.env(), how.pop("cwd", story.home), captured=True, **how)


def chosen(browser: Terminal) -> dict[str, Any]:
    """Return the choice that the program printed."""
    assert browser.wait_status() == 0, browser.screen.text()
    choice: dict[str, Any] = json.loads(browser.output())
    return choice


@pytest.mark.slow
def test_a_session_is_printed_as_json(story: StoryHome) -> None:
    with picker(story, "--json", "--query", "certificates") as browser:
        browser.wait("Renew the certificates")
        browser.press(ENTER)
        path = session_file(story, 3)
        assert chosen(browser) == {
            "path": str(path),
            "id": "019bee00-0000-7000-8000-000000000003",
            "agent": "pi",
            "cwd": str(story.project("infra")),
            "entry_id": None,
            "text": None,
        }


@pytest.mark.slow
def test_an_entry_of_another_branch_is_chosen_in_the_tree(story: StoryHome) -> None:
    path = session_file(story, 2)
    with picker(story, "--json", "--session", str(path)) as browser:
        browser.wait("← leaf")
        browser.press("/floats", ENTER)
        browser.wait("1 match")
        browser.press("n", ENTER)
        choice = chosen(browser)
    assert (choice["path"], choice["entry_id"], choice["text"]) == (str(path), "b01", "Try it with floats")


@pytest.mark.slow
def test_an_answer_has_no_text_and_the_tree_is_reached_from_the_list(story: StoryHome) -> None:
    with picker(story, "--json") as browser:
        browser.wait("3 sessions")
        browser.press("/cart")
        browser.wait(lambda screen: any("/cart " in line and "1 session" in line for line in screen.lines()))
        browser.until_quiet(0.5)
        browser.wait("esc keep search")
        browser.press(ESCAPE)
        browser.wait("esc clear search")
        browser.press("b")
        browser.wait("← leaf")
        browser.press(".")
        browser.wait(lambda screen: any("▌" in line and "They pass." in line for line in screen.lines()))
        browser.press(ENTER)
        choice = chosen(browser)
    assert (choice["entry_id"], choice["text"]) == ("e04", None)


@pytest.mark.slow
def test_an_entry_must_be_chosen_from_the_hits_of_a_search(story: StoryHome) -> None:
    with picker(story, "--json", "--entry", "--query", "cents") as browser:
        browser.wait("chooses an entry")
        browser.wait("Every price is in cents now.")
        browser.press(ENTER)
        assert chosen(browser)["entry_id"] == "e02"


@pytest.mark.slow
def test_with_entry_a_session_only_opens(story: StoryHome) -> None:
    with picker(story, "--json", "--entry") as browser:
        browser.wait("chooses an entry")
        browser.wait("esc keep search")
        browser.press(ESCAPE)
        browser.wait("r resume")
        browser.press("b")
        browser.wait("← leaf")
        browser.press(ENTER)
        assert chosen(browser)["entry_id"] == "e04"


@pytest.mark.slow
def test_here_begins_with_the_sessions_of_the_directory(story: StoryHome) -> None:
    with picker(story, "--here", cwd=story.project("infra")) as browser:
        browser.wait("Renew the certificates")
        browser.wait(lambda screen: "newest · infra" in screen.text())
        browser.press(ENTER)
        assert browser.wait_status() == 0
        assert browser.output().decode() == f"{session_file(story, 3)}\n"


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--session", "/none/such.jsonl"], ["--session", "beef"]])
def test_what_cannot_be_opened_is_said_in_one_line_with_status_three(story: StoryHome, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "sessionbrowse", "pick", *arguments]
    done = subprocess.run(command, env=story.env(), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
    assert done.stderr.startswith("sessionbrowse: ")


def test_without_any_terminal_the_status_is_three(story: StoryHome) -> None:
    command = [sys.executable, "-m", "sessionbrowse", "pick", "--json"]
    done = subprocess.run(
        command, env=story.env(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        start_new_session=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "sessionbrowse: There is no terminal to choose a session in.\n"


@pytest.mark.slow
def test_it_draws_on_the_controlling_terminal_where_all_streams_are_captured(story: StoryHome) -> None:
    said, chose = story.home / "said", story.home / "chose"
    line = f"{shlex.join([sys.executable, '-m', 'sessionbrowse', 'pick', '--json'])} </dev/null 2>{said} >{chose}"
    with Terminal(["/bin/sh", "-c", f"{line}; exit $?"], story.env(), story.home) as browser:
        browser.wait("3 sessions")
        browser.press("/cart", ENTER)
        assert browser.wait_status() == 0
    assert json.loads(chose.read_text())["path"] == str(session_file(story, 1))
    assert said.read_bytes() == b""


@pytest.mark.slow
def test_inside_an_agent_its_session_is_marked_and_nothing_can_be_changed(story: StoryHome) -> None:
    path = session_file(story, 2)
    before = {file: file.read_bytes() for file in story.home.rglob("*.jsonl")}
    with picker(story, "--json", "--open-session", str(path), "--open-leaf", "e02") as browser:
        browser.wait("← this one")
        assert "resume" not in browser.screen.lines()[-1]
        browser.press("/prices")
        browser.wait(lambda screen: any("/prices " in line and "1 session" in line for line in screen.lines()))
        browser.wait("esc keep search")
        browser.press(ESCAPE)
        browser.wait("esc clear search")
        for key, reason in (
            ("\x12", "pi has this open; use /name."),
            ("f", "pi has this open; use /fork."),
            ("\x04", "Changes are off inside pi"),
            ("u", "Changes are off inside pi"),
            ("r", "pi is running: open the session or entry"),
        ):
            browser.press(key)
            browser.wait(reason)
        browser.press(ESCAPE)
        browser.wait(lambda screen: "· best" not in screen.text())
        browser.press("b")
        # The file's leaf is b02; the agent stands at e02.
        browser.wait(lambda screen: any("▌" in line and "cents now" in line for line in screen.lines()))
        browser.press("L")
        browser.wait("pi has this open; use /tree.")
        browser.press(ESCAPE)
        browser.wait("← this one")
        browser.press(ESCAPE * 4)
        assert browser.wait_status() == 1
    assert {file: file.read_bytes() for file in story.home.rglob("*.jsonl")} == before


def test_the_callers_session_may_have_no_file_yet(story: StoryHome) -> None:
    with picker(story, "--open-session", str(story.home / "new.jsonl"), "--open-leaf", "none") as browser:
        browser.wait("3 sessions")
        assert "this one" not in browser.screen.text()
        browser.press("q")
        assert browser.wait_status() == 1


@pytest.mark.slow
def test_an_interrupted_change_is_not_recovered_from_inside_an_agent(story: StoryHome) -> None:
    journal = story.home / ".local/state/sessionbrowse/journal.jsonl"
    journal.parent.mkdir(parents=True)
    path = session_file(story, 1)
    record = {"record": "begin", "id": "x1", "verb": "rename", "path": str(path), "before": {}, "time": 1}
    journal.write_text(json.dumps(record, separators=(",", ":")) + "\n")
    before = journal.read_bytes()
    with picker(story, "--open-session", str(path)) as browser:
        browser.wait("3 sessions")
        browser.until_quiet(1)
        browser.press("q")
        assert browser.wait_status() == 1
    assert journal.read_bytes() == before
