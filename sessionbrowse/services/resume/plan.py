"""Plan how to resume a session in its agent: the command, its directory, and checks against data loss.

This module starts no program. `plan` checks the file as late as possible, because three of the agents create a new
session if the file is gone, and one overwrites a file that it cannot read.

A session of another machine is resumed there by ssh. The agent starts as after `ssh HOST` by hand: from the login
shell, with its usual start files. The command for it travels as ASCII text in an environment variable, which only a
POSIX shell unpacks, so the login shell (bash, dash, zsh, fish, csh, tcsh) never reads directories or arguments as its
own language.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from sessionbrowse.agents import AGENTS, Agent, Place, Surroundings
from sessionbrowse.agents.base import absolute
from sessionbrowse.errors import AgentMissing, CannotResume, DirectoryMissing, NeedsRepair, NotASession
from sessionbrowse.format.lines import line_blocks
from sessionbrowse.model.listing.directories import listed, why_not_here
from sessionbrowse.model.session.records import Reader
from sessionbrowse.store.find.directories import given
from sessionbrowse.store.find.roots import ROOT_SOURCE
from sessionbrowse.store.find.slow_disks import TIMEOUT_S, exists_many
from sessionbrowse.store.own.mirrors import machine_of, machines_dir, read_state, remote_path
from sessionbrowse.store.read.content import closing, file_blocks, open_content, open_regular
from sessionbrowse.text import clean, shell_quote

_NULL_LINE = re.compile(rb"(?:\A|\n)[ \t\r]*null[ \t\r]*\n")
_BLOB = re.compile(rb'"blob:sha256:([0-9a-f]{64})"')
_OVERLAP = 128
_MAX_BLOBS = 10_000

_WHAT_HAPPENS_ELSEWHERE = {
    "pi": "pi asks whether to continue the session in the other directory",
    "omp": "omp continues the session in the other directory",
    "atomic": "atomic asks whether to continue the session in the other directory",
    "indusagi": "indusagi continues the session in the other directory",
    "claude": "claude finds a session only in its own directory",
    "codex": "codex asks which directory to use",
}


class ResumeCommand(Struct, frozen=True):
    """A command that resumes a session: its arguments, its directory, and the variables to add to the environment.

    `notes` are sentences for the user about effects of the command. `unset` are variables to remove from the
    environment. For a session on another machine, `machine` is its name, `argv` runs ssh, and `shown` is the same
    command in the form that people read and copy.
    """

    agent: str
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()
    machine: str | None = None
    shown: tuple[str, ...] = ()

    def shell_line(self) -> str:
        """Return a shell line that runs the command in its directory; control characters stay in the line."""
        return self.bare_line() if self.shown else f"cd {shell_quote(self.cwd)} && {self.bare_line()}"

    def line_to_copy(self) -> str:
        """Return the shell line for the clipboard.

        Raises:
            CannotResume: the line has control characters. Pasted, they would act like keys; removed, they would change
            the command.
        """
        line = self.shell_line()
        if clean(line) != line:
            raise CannotResume("The command has control characters, so it cannot be copied.")
        return line

    def bare_line(self) -> str:
        """Return the command as one shell line, without the change of directory."""
        variables = [f"{name}={shell_quote(value)}" for name, value in self.env.items()]
        removed = ["env", *[f"-u {name}" for name in self.unset]] if self.unset else []
        return " ".join([*removed, *variables, *map(shell_quote, self.shown or self.argv)])

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment variables `environ` with the command's own variables added."""
        return {name: value for name, value in {**environ, **self.env}.items() if name not in self.unset}


def if_shown(before: str, line: str) -> str:
    """Return the text `before` followed by the shell line `line`; "" if the line has control characters.

    The control characters are not removed from the line, because the line would then run a different command.
    """
    return before + line if clean(line) == line else ""


def resume_command(
    agent: str, path: str, cwd: str, place: Place | None = None, settings_command: Sequence[str] | str | None = None
) -> ResumeCommand:
    """Return the command that resumes a session file, without checking the file.

    Args:
        path: absolute path of the file. The agents also accept ids, but search for them in one project only.
        place: the sessions folder that contains the file; the agent may need an environment variable to use it.
        settings_command: the user's own command in place of the program's name (words, or a shell-quoted line).
    """
    words = shlex.split(settings_command) if isinstance(settings_command, str) else settings_command
    return ResumeCommand(
        agent=agent, argv=AGENTS[agent].resume_argv(path, words or None), cwd=cwd, env=dict(place.env) if place else {}
    )


def plan(
    path: str | os.PathLike[str],
    agent: str,
    around: Surroundings,
    *,
    place: Place | None = None,
    settings_command: Sequence[str] | str | None = None,
    directory: str | None = None,
    must_start: bool = True,
    timeout_s: float = TIMEOUT_S,
) -> ResumeCommand:
    """Return the command that resumes a session, after checking the session file.

    Args:
        directory: the directory to run the command in, instead of the session's own directory. must_start: also check
        that the program and the directory exist.

    Raises:
        CannotResume: the file is gone, or the agent would refuse or overwrite it.
        AgentMissing: the program is not installed.
        DirectoryMissing: the session's directory is gone, or on a disk that does not answer.
    """
    file = absolute(os.fspath(path), around.cwd)
    cwd, notes = _check_file(file, AGENTS[agent])
    if (machine := machine_of(file)) is not None:
        return _plan_there(file, machine, agent, directory or cwd, around, place, tuple(notes))
    if not cwd and directory is None:
        notes.append(f"The session has no working directory: {agent} runs in the current directory.")
    start = given(directory, around.cwd) if directory else cwd or around.cwd
    command = resume_command(agent, file, start, place, settings_command)
    blobs, blob_notes = _blobs_of_copy(file, agent, place, around)
    unset = tuple(name for name in AGENTS[agent].kept_from_it if name in around.environ)
    command = msgspec.structs.replace(command, env={**command.env, **blobs}, notes=(*notes, *blob_notes), unset=unset)
    if must_start:
        check_directory(command, timeout_s)
        _check_program(command, around, custom=bool(settings_command))
    return command


def _plan_there(
    file: str,
    machine: str,
    agent: str,
    directory: str,
    around: Surroundings,
    place: Place | None,
    notes: tuple[str, ...],
) -> ResumeCommand:
    """Return the command that resumes a session on its own machine, in the agent that is installed there."""
    state = read_state(machine, machines_dir(around.environ, Path(around.home)))
    if state is None:
        raise CannotResume(f"The mirror of {machine} is damaged; look at {machine} again.")
    if not has_program(("ssh",), around.environ):
        raise AgentMissing("The program ssh is not found. Install OpenSSH.", "OpenSSH is not installed here.")
    words = AGENTS[agent].resume_argv(file)
    argv = tuple([remote_path(word) if word == file else word for word in words])
    env = dict(place.env) if place is not None and place.machine else {}
    there = (directory, argv, env)
    ssh = ("ssh", "-t", state.host)
    return ResumeCommand(
        agent=agent,
        argv=(*ssh, remote_text(*there)),
        cwd=around.home,
        notes=notes,
        machine=machine,
        shown=(*ssh, short_text(*there) or remote_text(*there)),
    )


def _check_file(path: str, agent: Agent) -> tuple[str, list[str]]:
    """Return the header's directory ("" if there is none), and notes for the user about opening the file."""
    shown = clean(path)
    if path.endswith(".gz"):
        raise CannotResume(f"{shown} is a packed archive: {agent.name} cannot open it before it is unpacked.")
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise CannotResume(f"{shown} is gone: {agent.name} would start a new, empty session in its place.") from None
    except (OSError, ValueError) as error:
        raise CannotResume(f"{shown} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    if not stat.S_ISREG(mode):
        raise CannotResume(f"{shown} is not a regular file.")
    try:
        descriptor = open_content(path).descriptor
    except NotASession as error:
        raise CannotResume(f"{clean(str(error))}.") from error
    with closing(descriptor):
        reader = _read_start(descriptor, agent)
        if agent.rules.only_read:
            return _check_only_read(shown, path, agent, reader)
        if reader.is_transcript or path.endswith(".ndjson"):
            raise CannotResume(
                f"{shown} is a transcript of the newer indusagi, which cannot open it by path: run `indus -r` "
                "(or `pindus -r`) in the project's directory and choose it there."
            )
        refusal = reader.refusal
        if refusal is None and agent.rules.null_line_refused and _has_null_line(descriptor):
            refusal = "fails on this file: it has a line that is only null"
    if refusal is not None or reader.header is None:
        sentence = f"{shown}: {agent.name} {refusal or 'finds no session header in this file'}."
        raise NeedsRepair(f"{sentence} Repair the session first.") if reader.bytes_read else CannotResume(sentence)
    notes = []
    if reader.generation < 3 and agent.name != "omp":
        notes.append(f"{agent.name} rewrites this file when it opens it, from format version {reader.generation} to 3.")
    if agent.name == "indusagi":
        notes.append("Only indusagi up to 0.12.15 opens this file; later versions, which were rewritten, do not.")
    return reader.header.cwd or "", notes


def _check_only_read(shown: str, path: str, agent: Agent, reader: Reader) -> tuple[str, list[str]]:
    """Return what `_check_file` returns, for a program that resumes a session by its id."""
    name = agent.rules.only_read
    header = reader.header
    identity = agent.resume(path)[-1]
    if header is None or not identity:
        raise CannotResume(f"{shown}: {name} finds no session id in this file.")
    if header.internal is True and agent.name == "claude":
        raise CannotResume(f"{shown} is the session of a subagent: {name} resumes only the session that started it.")
    if os.path.basename(os.path.dirname(path)) == "archived_sessions":
        raise CannotResume(f"{shown} is archived: run `codex unarchive {clean(identity)}` first.")
    return header.cwd or "", []


def _read_start(descriptor: int, agent: Agent) -> Reader:
    """Read a session file up to its header, or up to the line that proves that the file has no header."""
    reader = Reader(agent.rules)
    for block in line_blocks(file_blocks(descriptor)):
        for _ in reader.read(block):
            pass
        if reader.header is not None or reader.refusal is not None or reader.is_transcript:
            break
    reader.finish()
    return reader


def _has_null_line(descriptor: int) -> bool:
    return any(_NULL_LINE.search(piece) for piece in _overlapping(file_blocks(descriptor)))


def _overlapping(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield pieces of a file that overlap, so that a line that is only `null` is found even where two pieces meet.

    A newline is added at the end of the file.
    """
    rest = b""
    for piece in pieces:
        joined = rest + piece
        yield joined
        # The next piece may begin inside a line; a dot before it keeps that part from looking like a whole line.
        rest = b"." + joined[-_OVERLAP:]
    yield rest + b"\n"


def _blobs_of_copy(
    path: str, agent: str, place: Place | None, around: Surroundings
) -> tuple[dict[str, str], list[str]]:
    """For a session in a copy of omp's directory, return environment variables with which omp finds its images.

    With these variables omp also uses the settings and login in the copy; a note for the user, returned too, says so.
    So the variables are returned only if the session refers to an image that is in the copy but not in omp's own
    directory.
    """
    if agent != "omp" or place is None or place.source != ROOT_SOURCE or place.env:
        return {}, []
    if not place.agent_dir or not place.blobs or not around.disk.is_directory(place.blobs):
        return {}, []
    own = AGENTS["omp"].places(around)[0].blobs or ""
    if not any(_is_file(place.blobs, name) and not _is_file(own, name) for name in _blob_names(path)):
        return {}, []
    env = {"PI_CODING_AGENT_DIR": place.agent_dir}
    if around.environ.get("OMP_PROFILE") or around.environ.get("PI_PROFILE"):
        env["OMP_PROFILE"] = ""
    where = clean(place.agent_dir)
    return env, [f"The session's images are in {where}, so omp takes its settings and login from there too."]


def _blob_names(path: str) -> set[str]:
    names: set[str] = set()
    with closing(open_regular(path)) as descriptor:
        for piece in _overlapping(file_blocks(descriptor)):
            names.update(name.decode("ascii") for name in _BLOB.findall(piece))
            if len(names) >= _MAX_BLOBS:
                break
    return names


def _is_file(directory: str, name: str) -> bool:
    return os.path.isfile(os.path.join(directory, name))


def has_program(argv: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Return True if the program of a command is found."""
    return shutil.which(argv[0], path=environ.get("PATH") or os.defpath) is not None


def _check_program(command: ResumeCommand, around: Surroundings, *, custom: bool) -> None:
    program = command.argv[0]
    if has_program(command.argv, around.environ):
        return
    if custom:
        sentence = f"The command {clean(program)!r}, set for {command.agent} in the settings, is not found."
        raise AgentMissing(sentence, sentence)
    raise AgentMissing(
        f"{program} is not installed here. Install it (`{AGENTS[command.agent].install}`)"
        f"{if_shown(', or run this command elsewhere: ', command.shell_line()) or '.'}",
        f"{program} is not installed here.",
    )


def check_directory(command: ResumeCommand, timeout_s: float = TIMEOUT_S) -> None:
    """Raise `DirectoryMissing` if a command's directory does not exist, is of another system, or does not answer."""
    directory = listed(command.cwd, None)
    exists = exists_many([directory], timeout_s, fresh=True)[directory]
    if exists:
        return
    shown, why = clean(command.cwd), why_not_here(directory)
    if exists is None:
        raise DirectoryMissing(
            f"The session's directory {shown} does not answer (a network disk?). Try again when it is back.",
            f"{shown} does not answer.",
        )
    elsewhere = _WHAT_HAPPENS_ELSEWHERE[command.agent]
    raise DirectoryMissing(
        f"The session's directory {shown} "
        f"{f'{why}. Relocate it to a directory of this system' if why else 'does not exist. Make it again'}"
        f"{if_shown(f', or run this in another directory ({elsewhere}): ', command.bare_line()) or '.'}",
        f"{shown} {why or 'no longer exists'}.",
    )


# ---- the command for another machine -----------------------------------------------------------------------

NO_DIRECTORY, NO_PROGRAM, NO_CONNECTION = 74, 75, 255
"""Exit statuses of the command: directory or program are missing on the other machine, or ssh itself failed."""

_PLAIN = re.compile(r"[A-Za-z0-9_/.@:+=-]+")
_NEEDS_CODE = re.compile(rb"[^A-Za-z0-9 /._-]")
# `exec sh -c 'eval "$(printf %b "$SB_R")"'`, encoded so that no shell interprets any of its characters before `printf
# %b`.
_UNPACK = r"exec sh -c \047eval \042\044\050printf \045b \042\044SB_R\042\051\042\047"
# csh and tcsh take no further options before -c. An unknown login shell may not know -l and -i: sh reads ~/.profile.
_BY_LOGIN_SHELL = (
    f'c=$(printf %b "{_UNPACK}"); case "$SHELL" in '
    '*/csh|*/tcsh) exec "$SHELL" -c "$c";; '
    '*/bash|*/zsh|*/fish|*/dash|*/ash|*/ksh|*/mksh|*/sh) exec "$SHELL" -l -i -c "$c";; '
    '*) exec sh -l -c "$c";; esac'
)


def remote_text(directory: str, argv: Sequence[str], env: Mapping[str, str] = {}) -> str:
    """Return the command for ssh as printable ASCII text, which all login shells interpret in the same way.

    It starts the agent in the session's directory over ssh ("": the home directory).
    """
    there = f"cd -- {shlex.quote(directory)} || exit {NO_DIRECTORY}; " if directory else ""
    checked = f"{there}command -v {shlex.quote(argv[0])} >/dev/null || exit {NO_PROGRAM}"
    text = f"unset SB_R; {checked}; exec {shlex.join(_with_variables(argv, env))}"
    coded = _NEEDS_CODE.sub(lambda byte: rb"\0%03o" % byte[0][0], text.encode("utf-8", "surrogateescape"))
    return f"exec env SB_R='{coded.decode('ascii')}' sh -c '{_BY_LOGIN_SHELL}'"


def short_text(directory: str, argv: Sequence[str], env: Mapping[str, str] = {}) -> str | None:
    """Return a command for ssh that people can read; None if login shells would interpret a character differently."""
    words = _with_variables(argv, env)
    if not directory.startswith("/") or not all(_PLAIN.fullmatch(word) for word in (directory, *words)):
        return None
    return f'exec $SHELL -l -i -c "cd {directory} && exec {" ".join(words)}"'


def _with_variables(argv: Sequence[str], env: Mapping[str, str]) -> list[str]:
    return ["env", *[f"{name}={value}" for name, value in env.items()], *argv] if env else list(argv)
