"""Start an agent: in the browser's terminal, in a window or split of tmux, or with the user's own command."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO

from sessionbrowse.errors import CannotResume
from sessionbrowse.services.resume.plan import NO_CONNECTION, NO_DIRECTORY, NO_PROGRAM, ResumeCommand, if_shown
from sessionbrowse.text import clean, clean_lines, shell_quote

_KEYBOARD_SIGNALS = (signal.SIGINT, *([signal.SIGQUIT] if hasattr(signal, "SIGQUIT") else []))


def run_agent(
    command: ResumeCommand, environ: Mapping[str, str], output: int | None = None, errors: IO[bytes] | None = None
) -> int:
    """Run the agent in this terminal, wait for its end, and return its status as a shell does (128 + signal).

    `output` is the file descriptor for the agent's standard output, `errors` a file for its standard error. Call this
    function in the main thread: until the agent ends, this process ignores the keyboard's signals (such as Ctrl+C).
    Afterwards the previous handlers are restored.

    Raises:
        OSError: the program cannot be started.
    """
    with _keyboard_is_the_agents(), _terminal_kept():
        status = subprocess.run(
            command.argv, cwd=command.cwd, env=command.environment(environ), stdout=output, stderr=errors, check=False
        ).returncode
    return 128 - status if status < 0 else status


def endings_there(command: ResumeCommand, words: str = "") -> dict[int, str]:
    """Return sentences by exit status for a command on another machine; `words` is what ssh printed as its error."""
    if command.machine is None:
        return {}
    by_hand = f"(try `ssh {clean(command.argv[2])}` once by hand)"
    return {
        NO_DIRECTORY: f"The session's directory is gone on {command.machine}.",
        NO_PROGRAM: f"{command.agent} is not on the PATH of a login on {command.machine}.",
        NO_CONNECTION: f"{words or f'ssh has no connection to {command.machine}'} {by_hand}",
    }


def ending(agent: str, status: int) -> str | None:
    """Return a sentence about the agent's exit status, None if the agent succeeded or the user interrupted it."""
    if status in (0, 128 + signal.SIGINT):
        return None
    if status > 128 and status - 128 in {known.value for known in signal.Signals}:
        return f"{agent} was ended by the signal {signal.Signals(status - 128).name}."
    return f"{agent} ended with status {status}."


@contextmanager
def _keyboard_is_the_agents() -> Iterator[None]:
    """Ignore Ctrl+C in this process while the agent runs; the agent itself starts with the default handler."""
    previous = {number: signal.signal(number, lambda *_: None) for number in _KEYBOARD_SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            # A previous handler of None was not set by Python, so Python cannot restore it.
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


@contextmanager
def _terminal_kept() -> Iterator[None]:
    """Restore the terminal's modes after the `with` block: a killed agent leaves the terminal in raw mode."""
    try:
        import termios
    except ImportError:  # Windows has no terminal modes to restore.
        yield
        return
    try:
        descriptor = sys.stdin.fileno()
        modes = termios.tcgetattr(descriptor)
    except (OSError, ValueError, termios.error):
        # Standard input is not a terminal, so there are no modes to restore.
        yield
        return
    try:
        yield
    finally:
        # With TCSADRAIN, keys that the user has typed ahead are kept. An error means that the terminal is closed.
        with suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, modes)


TMUX_SECONDS = 10.0
FAILS_WITHIN_SECONDS = 1.5
"""Number of seconds for which `start_command` waits to see if the command fails."""

# The shell script that tmux runs in the new window. It starts the agent, and after a failure waits for Enter, so that
# the error can be read. It changes the directory itself, because tmux's option `-c` would expand `#(…)` in the name.
# Arguments such as `74:The directory …` may follow the directory: each is the sentence to show for an exit status.
_IN_ITS_DIRECTORY = (
    'cd -- "$1" || exit; shift; said=; while case "$1" in [0-9]*:*) ;; *) false;; esac; do said="$said$1\n"; shift; '
    'done; "$@"; status=$?; [ $status -eq 0 ] || { printf "\n"; printf %b "$said" | sed -n "s/^$status://p"; '
    'printf "%s ended with status %s. Enter closes. " "$1" $status; read _; }'
)
_AGENTS_VARIABLES = ("PI_", "OMP_", "ATOMIC_", "INDUSAGI_", "XDG_")
_SECRETS = ("KEY", "TOKEN", "SECRET", "PASSWORD")


def why_no_tmux(environ: Mapping[str, str]) -> str | None:
    """Return the reason why tmux cannot open a window or split, None if it can."""
    if not environ.get("TMUX"):
        return "Not in tmux."
    if shutil.which("tmux", path=environ.get("PATH") or os.defpath) is None:
        return "tmux is not found."
    return None


def why_no_command(template: Sequence[str]) -> str | None:
    """Return the reason why the settings' `resume.command` cannot start an agent, None if it can."""
    if not template:
        return "Not configured: set resume.command."
    if not any("{argv}" in word or "{line}" in word for word in template):
        return "The settings' resume.command has neither {argv} nor {line}."
    return None


def tmux_argv(command: ResumeCommand, environ: Mapping[str, str], *, split: bool) -> tuple[str, ...]:
    """Return the tmux command that runs the agent in a new window, or in a split of the current one.

    tmux starts programs with its own environment. So the variables by which the agent finds its sessions are passed as
    arguments. Secrets are not passed, because every user of the machine can read a program's arguments.

    Raises:
        CannotResume: the browser does not run in tmux, or tmux is not found.
    """
    reason = why_no_tmux(environ)
    if reason is not None:
        raise CannotResume(f"{reason}{if_shown(' Run it elsewhere: ', command.shell_line())}")
    if split:
        pane = environ.get("TMUX_PANE")
        where = ["split-window", "-h", *(["-t", pane] if pane else [])]
    else:
        where = ["new-window", "-n", command.agent]
    variables = [f"{name}={value}" for name, value in sorted(_variables(command, environ).items())]
    endings = [f"{status}:{said}" for status, said in endings_there(command).items()]
    words = ("env", *variables, "sh", "-c", _IN_ITS_DIRECTORY, "sh", command.cwd, *endings, *command.argv)
    # tmux would treat a semicolon at the end of an argument as the end of its command.
    return ("tmux", *where, "--", *[f"{word[:-1]}\\;" if word.endswith(";") else word for word in words])


def command_argv(command: ResumeCommand, template: Sequence[str]) -> tuple[str, ...]:
    """Return the user's own command (`resume.command`); the placeholders are replaced by the agent's command.

    Raises:
        CannotResume: the settings contain no command, or one without `{argv}` and `{line}`.
    """
    reason = why_no_command(template)
    if reason is not None:
        raise CannotResume(f"{reason} The example settings show a valid command.")
    words: list[str] = []
    for word in template:
        if word == "{argv}":
            words += command.argv
            continue
        values = {
            "{argv}": " ".join(map(shell_quote, command.argv)),
            "{line}": command.shell_line(),
            "{cwd}": command.cwd,
        }
        words.append(replaced(word, values))
    return tuple(words)


def replaced(text: str, values: Mapping[str, str]) -> str:
    """Return a text with each placeholder replaced by its value; placeholders inside the values stay as they are."""
    pieces: list[str] = []
    while True:
        found = [(at, name) for name in values if (at := text.find(name)) >= 0]
        if not found:
            return "".join([*pieces, text])
        at, name = min(found)
        pieces += [text[:at], values[name]]
        text = text[at + len(name) :]


def open_in_tmux(command: ResumeCommand, environ: Mapping[str, str], *, split: bool) -> None:
    """Open a tmux window or split that runs the agent; call this in a background thread, because it waits for tmux.

    Raises:
        CannotResume: tmux cannot be run, or returned an error.
    """
    argv = tmux_argv(command, environ, split=split)
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, env=dict(environ), timeout=TMUX_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotResume(f"tmux could not be run: {getattr(error, 'strerror', None) or error}.") from error
    if done.returncode:
        raise CannotResume(f"tmux refused: {_last_words(done.stderr)}")


def start_command(command: ResumeCommand, template: Sequence[str], environ: Mapping[str, str]) -> None:
    """Start the user's own command, and wait only for an early failure; call this in a background thread.

    Raises:
        CannotResume: the command could not be started, or failed at once.
    """
    argv = command_argv(command, template)
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                argv,
                cwd=command.cwd,
                env=command.environment(environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
        except OSError as error:
            raise CannotResume(f"{clean(argv[0])} could not be started: {error.strerror or error}.") from error
        try:
            status = process.wait(FAILS_WITHIN_SECONDS)
        except subprocess.TimeoutExpired:
            return
        if status:
            said.seek(0)
            raise CannotResume(f"{clean(argv[0])} ended with status {status}: {_last_words(said.read(4096))}")


def _variables(command: ResumeCommand, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables, without secrets, that the agent needs to find programs and its sessions."""
    ours = {
        name: value
        for name, value in environ.items()
        if (name == "PATH" or name.startswith(_AGENTS_VARIABLES)) and not any(word in name for word in _SECRETS)
    }
    return {**ours, **command.env}


def _last_words(said: bytes) -> str:
    lines = [line.strip() for line in clean_lines(said.decode(errors="replace")) if line.strip()]
    return lines[-1] if lines else "the command printed no error message."
