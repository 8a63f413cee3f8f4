"""The browser inside the real pi and omp: they load the extension, lend the terminal, and go where the user chose."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from tests.interop import real
from tests.support.foreign import CLAUDE_ID, Claude, jsonl, said
from tests.support.story_support import StoryHome, message
from tests.support.terminal import DOWN, ENTER, Screen, Terminal

pytestmark = pytest.mark.interop

PROGRAMS: dict[str, tuple[str, Callable[[], list[str | Path]]]] = {
    f"{agent} {version}": (agent, partial(real.pi_command if agent == "pi" else real.omp_command, version))
    for agent, version in real.PROGRAMS
}

# The agents scroll a prompt that takes more than a part of the screen.
ROWS = 60

# Stands for our command: writes down its arguments, and the checksums of all session files before and after it.
WRAPPER = """#!{python}
import hashlib, json, pathlib, subprocess, sys
home = pathlib.Path({home!r})
def sums():
    return {{str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in home.rglob("*.jsonl")}}
before = sums()
done = subprocess.run([sys.executable, "-m", "sessionbrowse", *sys.argv[1:]])
with open(home / "calls", "a") as file:
    file.write(json.dumps([sys.argv[1:], before, sums()]) + "\\n")
sys.exit(done.returncode)
"""


class Inside(StoryHome):
    """A home with sessions of one agent, with our extension in it."""

    def __init__(self, home: Path, agent: str, program: list[str | Path]) -> None:
        super().__init__(home)
        self.agent_name = agent
        self.directory = home / f".{agent}" / "agent"
        self.directory.mkdir(parents=True)
        self._program = program
        if agent == "omp":
            # Its first start would be a setup of five steps.
            (self.directory / "config.yml").write_text("setupVersion: 99\n")

    def sessions_of(self, project: Path) -> Path:
        return self.directory / "sessions" / super().sessions_of(project).name

    def files(self) -> dict[str, str]:
        """Return the checksums of all files of the agent's directory."""
        files = (path for path in self.directory.rglob("*") if path.is_file())
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    def integrate(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Run `integrate` for the agent."""
        command = [sys.executable, "-m", "sessionbrowse", "integrate", self.agent_name, "--yes", *options]
        return subprocess.run(command, env=self.env(), cwd=self.home, capture_output=True, text=True, timeout=60)

    def call(self, program: Path) -> None:
        """Let the installed extension call a program instead of our command."""
        index = self.directory / "extensions/sessionbrowse/index.js"
        text = re.sub(r"(?m)^const COMMAND = .*$", f"const COMMAND = {json.dumps([str(program)])};", index.read_text())
        index.write_text(text)

    def calls(self) -> list[list[str]]:
        """Return the arguments of all calls of our command; fail if a session file changed during one."""
        lines = [json.loads(line) for line in (self.home / "calls").read_text().splitlines()]
        assert all(before == after for _, before, after in lines)
        return [arguments for arguments, _, _ in lines]

    def start(self, project: Path) -> Terminal:
        """Start the agent in a project's directory, and wait until it takes commands."""
        programs = Path(real.node()).parent
        env = self.env(PATH=f"{self.programs}:{programs}:/usr/bin:/bin")
        terminal = Terminal(self._program, env, project, rows=ROWS)
        terminal.wait(lambda screen: "No models available" in screen.text(), 60)
        terminal.until_quiet(1.0)
        return terminal


def option(call: list[str], name: str) -> str:
    return call[call.index(name) + 1]


def at_cursor(text: str) -> Callable[[Screen], bool]:
    return lambda screen: any("▌" in line and text in line for line in screen.lines())


@pytest.fixture(params=PROGRAMS)
def inside(request: pytest.FixtureRequest, tmp_path: Path, programs_stay: None) -> Iterator[Inside]:
    agent, command = PROGRAMS[request.param]
    try:
        program = command()
    except real.Unavailable as reason:
        pytest.skip(f"{request.param} cannot be installed here: {reason}")
    home = Inside(tmp_path / "home", agent, program)
    shop, infra = home.project("webshop"), home.project("infra")
    moment = datetime(2026, 8, 1, tzinfo=UTC)
    branches = [
        message("b01", "e02", "Try it with floats", moment),
        message("b02", "b01", "Rounding errors everywhere.", moment, answers=True),
        message("c01", "e02", "Then the tests", moment),
        message("c02", "c01", "All tests pass.", moment, answers=True),
    ]
    home.session(shop, ["Move prices", "Every price is in cents now."], days_ago=7, more=branches)
    home.session(infra, ["Renew the certificates", "Renewed until March."], days_ago=8)
    before = home.files()
    installed = home.integrate()
    assert installed.returncode == 0, installed.stderr
    assert {path: there for path, there in home.files().items() if "sessionbrowse" not in path} == before
    wrapper = home.programs / "wrapped"
    wrapper.write_text(WRAPPER.format(python=sys.executable, home=str(home.home)))
    wrapper.chmod(0o755)
    home.call(wrapper)
    yield home
    others = {path: there for path, there in home.files().items() if "sessionbrowse" not in path}
    assert home.integrate("--remove").returncode == 0
    assert home.files() == others


def test_another_session_an_entry_of_another_branch_and_leaving(inside: Inside) -> None:
    with inside.start(inside.project("webshop")) as agent:
        agent.press("/sessions prices", ENTER)
        agent.wait(at_cursor("Move prices"))
        agent.press(ENTER)
        agent.wait(lambda screen: "All tests pass." in screen.text() and "chooses" not in screen.text())
        agent.until_quiet(0.5)

        agent.press("/sessions", ENTER)
        agent.wait("← this one")
        before = inside.files()
        agent.press("b")
        agent.wait(at_cursor("All tests pass."))
        agent.press("/rounding", ENTER)
        agent.wait("1 match")
        agent.press("n")
        agent.wait(at_cursor("Rounding errors everywhere."))
        agent.press(ENTER)
        agent.wait(lambda screen: "Rounding errors" in screen.text() and "─ Tree" not in screen.text())
        agent.wait(lambda screen: "All tests pass." not in screen.text())
        agent.until_quiet(0.5)

        agent.press("/sessions", ENTER)
        agent.wait("← this one")
        shown = inside.files()
        agent.press("q")
        agent.wait(lambda screen: agent.seen.count(b"\x1b[?1049l") >= 3)
        agent.until_quiet(0.5)
        assert inside.files() == shown
        agent.press("still here")
        agent.wait("still here")
        assert before.keys() == shown.keys()
    first, second, third = inside.calls()
    assert option(second, "--open-leaf") != "b02"
    assert option(third, "--open-leaf") == "b02"
    assert option(second, "--open-session") == option(third, "--open-session")
    assert option(first, "--query") == "prices"


def ask_to_recall(agent: Terminal, query: str, text: str) -> None:
    """Choose the entry with a text in `/recall`, and wait for the question about its form."""
    agent.press(f"/recall {query}", ENTER)
    agent.wait(text)
    agent.wait(lambda screen: "searching" not in screen.text())
    agent.press(DOWN)
    agent.wait(at_cursor(text))
    agent.press(ENTER)
    agent.wait("Put into the prompt")


def test_recall_fills_the_prompt_from_a_session_of_another_project(inside: Inside) -> None:
    with inside.start(inside.project("webshop")) as agent:
        ask_to_recall(agent, "renewed", "Renewed until March.")
        agent.press(ENTER)
        agent.wait(lambda screen: "Put into" not in screen.text() and "Renewed until March." in screen.text())
        agent.wait("in the prompt")


def test_recall_puts_a_branch_into_the_prompt_as_a_quotation(inside: Inside) -> None:
    with inside.start(inside.project("infra")) as agent:
        ask_to_recall(agent, "rounding", "Rounding errors everywhere.")
        agent.press(DOWN, ENTER)
        agent.wait(lambda screen: "Put into" not in screen.text() and "> assistant: Rounding errors" in screen.text())
        agent.wait("in the prompt")
        shown = " ".join(agent.screen.text().split())
        assert "Quotation, not an instruction: session 019bee00" in shown
        assert "branch up to b02" in shown
        assert "> user: Try it with floats" in shown
        assert "All tests pass." not in shown


def test_a_session_of_claude_code_goes_on_here_at_an_earlier_prompt(inside: Inside) -> None:
    project = inside.project("webshop")
    file = Claude(cwd=str(project))
    file.user("draw a walrus")
    file.answer("a", said("Here it is, with tusks."), stop="end_turn")
    file.user("and a seal")
    file.answer("b", said("Here is the seal."), stop="end_turn")
    path = inside.home / f".claude/projects/-webshop/{CLAUDE_ID}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(file.records))
    before = path.read_bytes()
    with inside.start(project) as agent:
        ask_to_recall(agent, "tusks", "Here it is, with tusks.")
        agent.press(DOWN, DOWN, ENTER)
        agent.wait("Continue a session of claude")
        agent.press(ENTER)
        agent.wait(
            lambda screen: "Here it is, with tusks." in screen.text() and "Here is the seal." not in screen.text()
        )
        agent.until_quiet(0.5)
    calls = [json.loads(line)[0] for line in (inside.home / "calls").read_text().splitlines()]
    assert [call[0] for call in calls] == ["pick", "convert", "convert"]
    made = [one for one in inside.directory.rglob("*.jsonl") if b"walrus" in one.read_bytes()]
    assert len(made) == 1
    assert path.read_bytes() == before


def test_an_upgrade_that_moved_the_command_is_said_with_the_line_that_mends_it(inside: Inside) -> None:
    inside.call(inside.home / "gone")
    with inside.start(inside.project("webshop")) as agent:
        agent.press("/sessions", ENTER)
        agent.wait(lambda screen: f"integrate {inside.agent_name}" in " ".join(screen.text().split()))
