"""`resume` on the command line: what is told and asked first, `--at`, and what the agent is started with."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.in_use import FileUsage
from tests.support.change_helpers import CONVERSATION, Store, assistant, entry, header
from tests.support.foreign import Claude, jsonl

STALE = entry("label", "0000000a", "00000003", targetId="00000003", label="here")


@pytest.fixture
def store(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    store = Store(tmp_path)
    store.home = own_home
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "pi").write_text(
        f'#!{sys.executable}\nimport sys\nopen({str(tmp_path / "ran")!r}, "w").write(sys.argv[2])\n'
    )
    (programs / "pi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return store


def session(store: Store, *more: dict[str, object]) -> Path:
    return store.session(entries=[*CONVERSATION, *more], head=[header(cwd=str(store.folder))])


def in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sessionbrowse.services.resume.before_resume.usage_at",
        lambda *_, **__: FileUsage("may-be-in-use", ("pi (process 7) runs in its directory",)),
    )


def test_at_an_entry_it_is_checked_out_first_and_its_text_comes_back(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    path = session(store)
    assert main(["resume", str(path), "--at", "00000007"]) == 0
    assert (store.folder / "ran").read_text() == str(path)
    opened = open_session(path)
    assert opened.envelopes[opened.active_branch()[-2]].id == "00000006"
    said = capfd.readouterr()
    assert said.out == ""
    assert "second question" in said.err


def test_printing_writes_nothing_and_gives_the_commands_that_do_the_same(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    path = session(store)
    before = path.read_bytes()
    assert main(["resume", str(path), "--at", "00000006", "--print"]) == 0
    line = capfd.readouterr().out
    first = line.partition(" && ")[0]
    assert main(["resume", str(path), "--at", "00000006", "--print", "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert document["first"] == shlex.split(first) == ["sessionbrowse", "checkout", str(path), "--", "00000006"]
    assert path.read_bytes() == before
    assert not (store.folder / "ran").exists()
    program = store.folder / "bin" / "sessionbrowse"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sessionbrowse "$@"\n')
    program.chmod(0o755)
    subprocess.run(["sh", "-c", line], check=True, timeout=60)
    assert (store.folder / "ran").read_text() == str(path)
    opened = open_session(path)
    assert opened.envelopes[opened.active_branch()[-2]].id == "00000006"


@pytest.mark.parametrize("options", [["--print"], ["--json"], []])
def test_no_line_is_printed_that_would_fail_at_its_check_out(
    store: Store, capfd: pytest.CaptureFixture[str], options: list[str]
) -> None:
    assert main(["resume", str(session(store)), "--at", "no-such-entry", *options]) == 1
    said = capfd.readouterr()
    assert said.out == ""
    assert "No entry or label 'no-such-entry'" in said.err
    other = store.home / ".claude/projects/-tmp/x.jsonl"
    other.parent.mkdir(parents=True)
    file = Claude(cwd=str(store.home))
    file.user("hi")
    other.write_bytes(jsonl(file.records))
    assert main(["resume", str(other), "--at", open_session(other).ids[0] or "", *options]) == 1
    said = capfd.readouterr()
    assert said.out == ""
    assert "which sessionbrowse only reads" in said.err


def test_the_agent_does_not_start_where_the_check_out_failed(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    path = session(store)
    assert main(["resume", str(path), "--at", "00000007", "--print"]) == 0
    line = capfd.readouterr().out
    program = store.folder / "bin" / "sessionbrowse"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    assert subprocess.run(["sh", "-c", line], check=False, timeout=60).returncode == 1
    assert not (store.folder / "ran").exists()


@pytest.mark.parametrize("name", ["a\x1b'; touch PWNED; #", "\x1b['; touch PWNED; '", "\udcff\\\n"])
def test_no_directory_name_runs_as_a_command(
    store: Store, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    directory = store.folder / name
    directory.mkdir()
    path = store.session(entries=CONVERSATION, head=[header(cwd=str(directory))])
    monkeypatch.chdir(store.folder)
    assert main(["resume", str(path), "--print"]) == 0
    subprocess.run(["dash", "-c", capfdbinary.readouterr().out], check=False, timeout=60)
    assert not list(store.folder.rglob("PWNED"))
    if "\udcff" not in name:  # A header is UTF-8, so an agent cannot have written this one.
        assert (store.folder / "ran").read_text() == str(path)


def test_a_terminal_is_not_given_control_characters(
    store: Store, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = store.folder / "\x1b[2J"
    directory.mkdir()
    path = store.session(entries=CONVERSATION, head=[header(cwd=str(directory))])
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert main(["resume", str(path), "--print"]) == 1
    said = capfd.readouterr()
    assert said.out == ""
    assert f"Run instead: sessionbrowse resume {path}" in said.err
    assert "\x1b" not in said.err


@pytest.mark.parametrize("options", [[], ["--print"], ["--print", "--json"], ["--json"]])
@pytest.mark.parametrize(
    ("cwd", "told"),
    [
        ("/gone/away", "does not exist. Make it again"),
        ("C:\\Users\\u\\ELM", "is of another system (Windows). Relocate it"),
        ("\\\\wsl$\\Ubuntu\\home", "is of another system (Windows). Relocate it"),
        ("proj", "is not an absolute path. Relocate it"),
        ("~/proj", "is not an absolute path. Relocate it"),
    ],
)
def test_a_directory_in_which_no_agent_can_start_is_refused_in_every_way_and_never_joined_to_the_current_one(
    store: Store,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    cwd: str,
    told: str,
    options: list[str],
) -> None:
    for name in ("proj", "~/proj", "C:\\Users\\u\\ELM"):
        (store.folder / name).mkdir(parents=True)
    monkeypatch.chdir(store.folder)
    path = store.session(entries=CONVERSATION, head=[header(cwd=cwd)])
    assert main(["resume", str(path), *options]) == 1
    said = capfd.readouterr()
    assert said.out == ""
    assert f"The session's directory {cwd} {told}" in said.err
    assert not (store.folder / "ran").exists()


def test_a_newest_message_that_would_be_left_behind_is_told_with_the_way_to_it(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    path = session(store, STALE)
    assert main(["resume", str(path), "--print"]) == 0
    assert "5 messages are not on the branch where the session resumes" in (told := capfd.readouterr().err)
    assert "--at 00000008 goes there" in told
    assert main(["resume", str(path), "--at", "00000008"]) == 0
    capfd.readouterr()
    assert main(["resume", str(path), "--print"]) == 0
    assert capfd.readouterr().err == ""


def test_a_session_that_may_be_in_use_is_not_resumed_unasked(
    store: Store, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = session(store)
    before = path.read_bytes()
    in_use(monkeypatch)
    assert main(["resume", str(path), "--at", "00000006"]) == 1
    told = capfd.readouterr().err
    assert "pi (process 7) runs in its directory" in told
    assert "add --force to start it anyway" in told
    assert told.count("\n") == 1
    assert not (store.folder / "ran").exists()
    assert path.read_bytes() == before
    assert main(["resume", str(path), "--force"]) == 0
    assert (store.folder / "ran").exists()


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("\n", 1), ("n\n", 1)])
def test_on_a_terminal_it_is_asked(store: Store, monkeypatch: pytest.MonkeyPatch, answer: str, status: int) -> None:
    path = session(store)
    in_use(monkeypatch)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin.readline", lambda: answer, raising=False)
    assert main(["resume", str(path)]) == status
    assert (store.folder / "ran").exists() == (status == 0)


def without_usage(store: Store) -> Path:
    """Write the session of a converter: an answer without `usage`, on which pi stops."""
    told = assistant("00000009", "00000008", "converted")
    del told["message"]["usage"]
    return session(store, told)


def test_a_session_on_which_the_agent_stops_is_not_resumed_unasked(
    store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    path = without_usage(store)
    assert main(["resume", str(path)]) == 1
    told = capfd.readouterr().err
    assert "pi stops with an error when it draws this message: message.usage is missing in line 10." in told
    assert "repair the session with doctor --in-place, or add --force" in told
    assert not (store.folder / "ran").exists()
    assert main(["resume", str(path), "--print"]) == 0
    assert "message.usage is missing" in capfd.readouterr().err
    assert main(["doctor", str(path), "--in-place"]) == 0
    capfd.readouterr()
    assert main(["resume", str(path)]) == 0
    assert capfd.readouterr().err == ""
    assert (store.folder / "ran").exists()


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("n\n", 1)])
def test_on_a_terminal_it_is_asked_if_the_agent_stops_on_the_session(
    store: Store, monkeypatch: pytest.MonkeyPatch, answer: str, status: int
) -> None:
    path = without_usage(store)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin.readline", lambda: answer, raising=False)
    assert main(["resume", str(path)]) == status
    assert (store.folder / "ran").exists() == (status == 0)
