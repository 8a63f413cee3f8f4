"""The user's own commands: what stands for a placeholder is never read as a command."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sessionbrowse.config import CustomCommand
from sessionbrowse.errors import CommandFailed
from sessionbrowse.services.resume.custom_commands import (
    MOST_LINES,
    PLACEHOLDERS,
    directory_for,
    paused,
    placeholders_of,
    run_quietly,
    words_of,
)

HOSTILE = "a b'\"; touch pwned; $(touch pwned) `touch pwned` \\ {id} *"
ENVIRON = {"PATH": os.environ["PATH"]}


def own(run: str | tuple[str, ...]) -> CustomCommand:
    return CustomCommand(name="Mine", run=run)


def quietly(run: str | tuple[str, ...], tmp_path: Path, **values: str) -> str:
    return run_quietly(own(run), values, str(tmp_path), ENVIRON)


def test_words_are_filled_in_as_they_are() -> None:
    assert words_of(own(("code", "--goto={path}:{entry}", "{what}")), {"path": HOSTILE, "entry": "e"}) == (
        "code",
        f"--goto={HOSTILE}:e",
        "{what}",
    )


@pytest.mark.parametrize("name", PLACEHOLDERS)
def test_every_placeholder_reaches_words_and_lines(name: str, tmp_path: Path) -> None:
    assert quietly(("printf", "%s", f"{{{name}}}"), tmp_path, **{name: f"/{HOSTILE}"}) == f"/{HOSTILE}"
    assert quietly(f"printf %s {{{name}}}", tmp_path, **{name: f"/{HOSTILE}"}) == f"/{HOSTILE}"
    assert placeholders_of(own(f"x {{{name}}}")) == {name}


QUOTED = (
    "{name}",
    '"{name}"',
    "x {name}",
    '"a {name} b"',
    '"$(printf %s "{name}")"',
    "$(printf %s {name})",
    "`echo {name}`",
)


@pytest.mark.parametrize("line", [f"printf '<%s>' {each}" for each in QUOTED])
def test_however_a_placeholder_is_quoted_its_value_is_one_word(line: str, tmp_path: Path) -> None:
    said = quietly(f"# it's one\n{line}", tmp_path, name="a  --evil *  b")
    expected = {QUOTED[2]: "<x><a  --evil *  b>", QUOTED[3]: "<a a  --evil *  b b>"}
    if "printf %s {name}" in line or "`" in line:
        assert "--evil" in said  # the person wrote an expansion without quotes
    else:
        assert said == expected.get(line.removeprefix("printf '<%s>' "), "<a  --evil *  b>")


@pytest.mark.parametrize(
    "run",
    [
        "sh -c 'printf %s {name}'", "sh -c 'printf %s \"{name}\"'", 'sh -c "printf %s {name}"',
        'sh -c "printf %s \\"{name}\\""', "/bin/sh -ec 'printf %s {name}'", 'eval "printf %s {name}"',
        ("sh", "-c", "printf %s {name}"), ("sh", "-e", "-c", 'printf %s "{name}"'),
        ("env", "sh", "-c", "printf %s {name}"),
    ],
)  # fmt: skip
def test_a_script_for_another_shell_never_runs_a_value(run: str | tuple[str, ...], tmp_path: Path) -> None:
    assert quietly(run, tmp_path, name=HOSTILE) == HOSTILE
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["cwd", "id", "name", "entry"])
@pytest.mark.parametrize(
    "run",
    [
        ("code", "{name}"), ("code", "{entry}{name}"), ("sh", "-c", "code {name}"), "code {name}", 'code "{name}"',
        "code '{name}'", "cd /; code\t{name}", "code -n {entry}{name}", "echo $(code {name})", "a -- b; code {name}",
        "code {name}x", 'sh -c "code {name}"', "true&&code {name}",
    ],
)  # fmt: skip
def test_no_value_becomes_an_option_of_a_program(name: str, run: str | tuple[str, ...]) -> None:
    """A session says what its directory, id, name and entries are; a program may do anything by an option."""
    empty = "id" if name == "entry" else "entry"
    changed = run if isinstance(run, str) else "\0".join(run)
    changed = changed.replace("{entry}", f"{{{empty}}}").replace("{name}", f"{{{name}}}")
    command = own(changed if isinstance(run, str) else tuple(changed.split("\0")))
    said = (
        r"is not an absolute path" if name == "cwd" else r'begins with "-", so the program would read it as an option'
    )
    for value in ("--install-extension=/tmp/evil.vsix", "-x", "-"):
        with pytest.raises(CommandFailed, match=rf"Mine cannot be run: the session's \{{{name}\}} {said}"):
            words_of(command, {name: value})
    assert words_of(command, {name: "/a - --b"})


@pytest.mark.parametrize(
    "run",
    [
        ("grep", "--", "{name}"), ("x", "--title={name}"), ("x", "-t{name}"), "grep -- {name}", "x --title={name}",
        "x --title='{name}'", 'x -t"{name}"', "grep -e x -- y {name}", ("sh", "-c", 'echo "$1"', "--", "{name}"),
    ],
)  # fmt: skip
def test_a_value_where_no_option_can_be_is_given(run: str | tuple[str, ...]) -> None:
    assert words_of(own(run), {"name": "- fix it"})


@pytest.mark.parametrize("cwd", ["-x", "relative/x", "C:\\Users\\u", "~", "."])
def test_a_directory_that_is_none_here_is_not_given_and_not_entered(
    cwd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / cwd).mkdir(parents=True, exist_ok=True)
    assert directory_for(cwd, "/home/u") == "/home/u"
    for run in (("code", "--folder={cwd}"), "code x{cwd}"):
        with pytest.raises(CommandFailed, match=r"the session's \{cwd\} is "):
            words_of(own(run), {"cwd": cwd})


@pytest.mark.parametrize(
    "line", ["echo {path}", 'echo "{path}"', "echo '{path}'", 'echo "it\'s {path}"', "echo x{path}y"]
)
def test_however_a_placeholder_is_quoted_its_value_is_never_run(line: str, tmp_path: Path) -> None:
    quietly(line, tmp_path, path=HOSTILE)
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_pauses_waits_for_enter_and_ends_with_its_own_status(tmp_path: Path) -> None:
    for run in (("sh", "-c", "echo there; exit 3"), "echo there; exit 3"):
        words = paused(words_of(own(run), {"path": HOSTILE}))
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, text=True)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.read(len("there\n\nEnter")) == "there\n\nEnter"
        assert process.poll() is None
        process.stdin.write("\n")
        process.stdin.close()
        assert process.wait(30) == 3
        process.stdout.close()


def test_the_end_of_the_output_is_told_in_clean_lines(tmp_path: Path) -> None:
    said = quietly("seq 100; printf 'red \\033[31mtext\\033[0m\\n\\n'", tmp_path)
    lines = said.split("\n")
    assert len(lines) == MOST_LINES
    assert lines[-2:] == ["100", "red text"]


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        ("echo it broke; exit 3", "Mine ended with status 3. it broke"),
        (("/not/there",), "Mine could not be started: No such file or directory."),
        (("echo", "a\0b"), "Mine could not be started: embedded null byte."),
    ],
)
def test_a_command_that_fails_says_how(run: str | tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(CommandFailed) as failed:
        quietly(run, tmp_path)
    assert failed.value.sentence == sentence


def test_it_runs_in_the_sessions_directory_or_at_home(tmp_path: Path) -> None:
    assert directory_for(str(tmp_path), "/home/u") == str(tmp_path)
    assert directory_for(str(tmp_path / "gone"), "/home/u") == "/home/u"
    assert directory_for("", "/home/u") == "/home/u"


@pytest.mark.parametrize("value", ["half \udc00 a surrogate", "a\0b"])
def test_a_value_that_no_program_can_be_given_stops_only_the_command_that_asks_for_it(
    value: str, tmp_path: Path
) -> None:
    for run in (("echo", "{id}"), "echo {id}"):
        with pytest.raises(CommandFailed, match=r"Mine cannot be run: the session's \{id\} contains a character"):
            quietly(run, tmp_path, id=value)
    assert quietly("echo {path} ${SESSIONBROWSE_ID-none}", tmp_path, id=value, path="/there") == "/there none"
