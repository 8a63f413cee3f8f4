"""Completion: the words that `__complete` offers, and the three shells that ask it, driven as a person types."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.cli import main
from sessionbrowse.cli.commands.completion import candidates
from sessionbrowse.cli.output import SHELLS
from sessionbrowse.cli.parser import MODULE_OF_COMMAND
from tests.support.session_files import Status
from tests.support.session_files import snapshot as snapshot_of
from tests.support.story_support import PROJECT_ROOT, StoryHome
from tests.support.terminal import TAB, Terminal

FIRST, SECOND = "019bee00-0000-7000-8000-000000000001", "019bee00-0000-7000-8000-000000000002"

AT = "2026-01-02T03:04:05.000Z"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoryHome:
    """A person with two indexed sessions, the first with a label and a name."""
    story = StoryHome(tmp_path / "home")
    monkeypatch.setenv("HOME", str(story.home))
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    shop = story.project("webshop")
    label: dict[str, Any] = {"type": "label", "id": "lab", "parentId": "e02", "timestamp": AT}
    named: dict[str, Any] = {
        "type": "session_info",
        "id": "nam",
        "parentId": "lab",
        "timestamp": "2026-01-02T03:04:05.000Z",
    }
    story.session(
        shop,
        ["Add a cart page", "Done."],
        days_ago=3,
        more=[{**label, "targetId": "e01", "label": "before cart"}, {**named, "name": "Cart page"}],
    )
    story.session(shop, ["Why is the build slow?", "The cache is cold."], days_ago=2)
    subprocess.run([sys.executable, "-m", "sessionbrowse", "index"], check=True, timeout=120, cwd=PROJECT_ROOT)
    monkeypatch.chdir(story.home)
    return story


def snapshot(home: Path) -> Status:
    """Return everything below the home, without the files by which SQLite's readers and writers agree."""
    return {path: status for path, status in snapshot_of(home).items() if not str(path).endswith(("-shm", "-wal"))}


def words(*typed: str) -> list[str]:
    return [one.word for one in candidates(typed)]


def test_a_command_is_offered_before_and_after_a_root(home: StoryHome) -> None:
    assert words("re") == ["resume", "rename", "restore", "relocate", "redact"]
    assert set(words("")) == set(MODULE_OF_COMMAND)
    assert words("--root", "/x", "lis") == ["list"]
    assert words("--root", "/x", "") == words("")
    assert words("--root", "demo", "lis") == ["list"], "a directory named like a command"
    assert words("--root", "demo", "list", "--sort", "thr") == ["threaded"]
    assert words("--agent", "omp", "--root=list", "tre") == ["tree"]
    assert words("--root", "") == [":directories"]
    assert words("--root=") == [":directories"]


def test_an_id_that_two_files_have_is_offered_once_and_says_that_a_path_is_needed(home: StoryHome) -> None:
    (file,) = [path for path in home.home.rglob("*.jsonl") if FIRST in path.read_text()]
    (file.parent / "copy.jsonl").write_bytes(file.read_bytes())
    subprocess.run([sys.executable, "-m", "sessionbrowse", "index"], check=True, timeout=120, cwd=PROJECT_ROOT)
    found = {one.word: one.meaning for one in candidates(["show", FIRST[:4]])}
    assert set(found) == {FIRST, SECOND}
    assert found[FIRST] == "2 sessions have this id; give a path"


def test_options_and_their_values_are_offered(home: StoryHome) -> None:
    assert words("list", "--s") == ["--sort"]
    assert words("list", "--sort", "t") == ["threaded"]
    assert words("list", "--sort=t") == ["--sort=threaded"]
    assert words("list", "--sort", "=", "t") == ["threaded"], "as bash splits it"
    assert words("--agent", "o") == ["omp"]
    assert words("completion", "") == ["bash", "zsh", "fish"]
    assert words("tree", FIRST, "--filter=no") == ["--filter=no-tools"]


def test_no_file_is_offered_where_none_fits(home: StoryHome) -> None:
    for typed in (["list", ""], ["search", "x"], ["list", "--limit", ""], ["rename", FIRST, ""], ["show", FIRST, ""]):
        assert words(*typed) == [], typed
    assert words("export", FIRST, "-o", "") == [":files"]
    assert words("show", "./") == [":files"]
    assert words("relocate", "") == [":directories"]


def test_sessions_are_offered_with_their_titles(home: StoryHome) -> None:
    found = {one.word: one.meaning for one in candidates(["show", ""])}
    assert list(found) == ["latest", SECOND, FIRST]
    assert found[FIRST].endswith("Cart page")
    assert found[SECOND].endswith("Why is the build slow?")
    assert words("show", "lat") == ["latest"]
    assert words("show", "CART") == ["Cart page"]
    assert words("delete", FIRST, "019bee00-0000-7000-8000-000000000002") == [SECOND]
    assert words("--root", str(home.home / ".pi/agent"), "show", "019") == [SECOND, FIRST]
    assert words("--root", "/nowhere", "show", "019") == []


def test_labels_and_entries_of_the_session_typed_before_are_offered(home: StoryHome) -> None:
    assert words("checkout", FIRST, "") == ["before cart", "nam", "lab", "e02", "e01"]
    assert words("fork", "Cart page", "--at", "e") == ["e02", "e01"]
    assert words("context", "latest", "--at", "") == ["e02", "e01"]
    assert words("checkout", "nothing", "") == []


def test_it_reads_the_index_only_and_writes_nothing(home: StoryHome, capfd: pytest.CaptureFixture[str]) -> None:
    before = snapshot(home.home)
    for typed in (["show", ""], ["checkout", FIRST, ""], ["re"], ["--root", ""]):
        assert main(["__complete", *typed]) == 0
    assert snapshot(home.home) == before
    assert f"{FIRST}\t" in capfd.readouterr().out
    shutil.rmtree(home.home / ".cache")
    before = snapshot(home.home)
    assert main(["__complete", "show", ""]) == 0
    assert capfd.readouterr().out == ""
    assert snapshot(home.home) == before


def test_a_damaged_index_offers_nothing_and_stays(home: StoryHome, capfd: pytest.CaptureFixture[str]) -> None:
    path = home.home / ".cache/sessionbrowse/index.sqlite"
    path.write_bytes(path.read_bytes()[:200])
    before = snapshot(home.home)
    assert main(["__complete", "show", ""]) == 0
    assert capfd.readouterr() == ("", "")
    assert snapshot(home.home) == before


ODD = "\x1b]52;c;aGFjaw==\x07\x1b]8;;u\x1b\\\x1b[31m\x9b2J\x9d0;t\x9c\u202e\u2066\x00\x7f\x85\r\t"


def attack(home: StoryHome) -> None:
    """Add and index sessions of which ids, names, labels and titles would act on a terminal or in a shell."""
    folder = home.sessions_of(home.project("webshop"))
    ids = (f"019bad{ODD}", "019bad\n019bee-injected\tevil", ":files", "-rf", "--version", "019bad{odd}", "", "\ud800x")
    for number, odd in enumerate(ids):
        entries = [{"type": "session", "version": 3, "id": odd, "timestamp": AT, "cwd": f"/{ODD}"}]
        parent = None
        for kind, more in (
            ("message", {"message": {"role": "user", "content": f"{ODD} title\n:files", "timestamp": 1}}),
            ("label", {"targetId": f"{ODD}0", "label": f"{ODD}\n--evil"}),
            ("label", {"targetId": f"{ODD}1", "label": ":directories"}),
            ("session_info", {"name": f"cart {ODD}{number}"}),
        ):
            entry_id = f"{ODD}{len(entries) - 1}"
            entries.append({"type": kind, "id": entry_id, "parentId": parent, "timestamp": AT, **more})
            parent = entry_id
        (folder / f"2026-01-0{number + 1}T00-00-00-000Z_{number}.jsonl").write_text(
            "".join(json.dumps(entry) + "\n" for entry in entries)
        )
    subprocess.run([sys.executable, "-m", "sessionbrowse", "index"], check=True, timeout=120, cwd=PROJECT_ROOT)


def test_nothing_that_acts_on_a_terminal_or_in_a_shell_is_offered(
    home: StoryHome, capfd: pytest.CaptureFixture[str]
) -> None:
    attack(home)
    capfd.readouterr()
    folder = home.sessions_of(home.project("webshop"))
    for typed, offered in (
        (["show", ""], ["latest", "019bad{odd}", SECOND, FIRST]),
        (["show", "019bad"], ["019bad{odd}"]),
        (["show", ":"], []),
        (["show", "-r"], []),
        (["show", "cart "], ["Cart page"]),
        (["checkout", str(folder / "2026-01-01T00-00-00-000Z_0.jsonl"), ""], []),
    ):
        assert main(["__complete", *typed]) == 0
        out = capfd.readouterr().out
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]", out)
        assert sorted(line.split("\t")[0] for line in out.splitlines()) == sorted(offered), typed


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_each_shell_is_valid(shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["completion", shell]) == 0
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    (tmp_path / "script").write_text(capsys.readouterr().out)
    checked = subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, check=False, timeout=60)
    assert (checked.returncode, checked.stderr) == (0, b"")


STARTS = {
    "bash": ["bash", "--norc", "--noprofile"],
    "zsh": ["zsh", "-f"],
    "fish": ["fish", "--no-config"],
}
LOADS = {
    "bash": "source <(sessionbrowse completion bash)",
    "zsh": "source <(sessionbrowse completion zsh)",
    "fish": "sessionbrowse completion fish | source",
}


@pytest.mark.slow
@pytest.mark.parametrize("shell", STARTS)
def test_a_shell_completes_as_a_person_types(shell: str, home: StoryHome) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    program = home.programs / "sessionbrowse"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sessionbrowse "$@"\n')
    program.chmod(0o755)
    (home.home / "one.jsonl").touch()
    env = home.env(PS1="$ ", PATH=f"{home.programs}:{os.path.dirname(str(shutil.which(shell)))}:{os.defpath}")
    with Terminal(STARTS[shell], env, home.home, rows=30, columns=120) as terminal:
        terminal.until_quiet(1)
        terminal.press(LOADS[shell] + "; printf 'REA%s\\n' DY\r")
        terminal.wait("READY")
        terminal.until_quiet(0.5)
        terminal.press("sessionbrowse renam" + TAB)
        terminal.wait("sessionbrowse rename")
        terminal.press("019bee00-0000-7000-8000-000000000001"[:-1] + "1" + TAB)
        terminal.until_quiet(0.5)
        terminal.press("\x15" + f"sessionbrowse checkout {FIRST} bef" + TAB)
        terminal.wait(lambda screen: "before\\ cart" in screen.text() or "'before cart'" in screen.text())
        terminal.press("\x15sessionbrowse --root .pi/agent sho" + TAB)
        terminal.wait("agent show")
        terminal.press("\x15sessionbrowse list on" + TAB)
        terminal.until_quiet(0.7)
        assert "one.jsonl" not in terminal.screen.text()
        terminal.press("\x15sessionbrowse show 019bee" + TAB * 3)
        terminal.wait("Cart page")
        terminal.press("\x15sessionbrowse list --sort=thr" + TAB)
        terminal.wait("--sort=threaded")
        attack(home)
        seen = len(terminal.seen)
        terminal.press("\x15sessionbrowse show " + TAB * 3)
        terminal.wait("019bad")
        terminal.until_quiet(0.5)
        for raw in (b"]52;c", b"]8;;u", b"[31m\xc2", b"\xc2\x9b", b"\xc2\x9d", b"\xe2\x80\xae", b"injected"):
            assert raw not in terminal.seen[seen:]


@pytest.mark.slow
def test_it_takes_little_time(home: StoryHome) -> None:
    """A person waits for it at each Tab; processor time is counted, since other tests work beside."""
    command = [sys.executable, "-m", "sessionbrowse", "__complete", "show", ""]
    taken = []
    for _ in range(5):
        before = os.times()
        subprocess.run(command, capture_output=True, check=True, timeout=60, cwd=PROJECT_ROOT)
        after = os.times()
        taken.append(after.children_user + after.children_system - before.children_user - before.children_system)
    assert min(taken) < 1
