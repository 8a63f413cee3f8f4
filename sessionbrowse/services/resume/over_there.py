"""The command that resumes a session on the machine where it lies, by ssh, whatever the login shell is there.

What works is what works after `ssh HOST` by hand: the agent is started by the login shell with its usual start files.
The command for it travels as ASCII text in an environment variable, which only a POSIX shell unpacks, so the login
shell (bash, dash, zsh, fish, csh, tcsh) never reads directories or arguments as its own language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

NO_DIRECTORY, NO_PROGRAM, NO_CONNECTION = 74, 75, 255
"""The statuses with which the command ends if directory or program are missing over there, or ssh itself failed."""

_PLAIN = re.compile(r"[A-Za-z0-9_/.@:+=-]+")
_NEEDS_CODE = re.compile(rb"[^A-Za-z0-9 /._-]")
# `exec sh -c 'eval "$(printf %b "$SB_R")"'`, in which no character means anything to any shell before `printf %b`.
_UNPACK = r"exec sh -c \047eval \042\044\050printf \045b \042\044SB_R\042\051\042\047"
# csh and tcsh take no further options before -c. An unknown login shell may not know -l and -i: sh reads ~/.profile.
_BY_LOGIN_SHELL = (
    f'c=$(printf %b "{_UNPACK}"); case "$SHELL" in '
    '*/csh|*/tcsh) exec "$SHELL" -c "$c";; '
    '*/bash|*/zsh|*/fish|*/dash|*/ash|*/ksh|*/mksh|*/sh) exec "$SHELL" -l -i -c "$c";; '
    '*) exec sh -l -c "$c";; esac'
)


def posix_words(words: Sequence[str]) -> str:
    """Return words as a POSIX shell reads them."""
    return " ".join(["'" + word.replace("'", "'\\''") + "'" for word in words])


def inner_text(directory: str, argv: Sequence[str], env: Mapping[str, str] = {}) -> str:
    """Return the POSIX text that starts the agent in the session's directory ("": the home directory) over there."""
    variables = [f"{name}={value}" for name, value in env.items()]
    words = ["env", *variables, *argv] if variables else list(argv)
    there = f"cd -- {posix_words([directory])} || exit {NO_DIRECTORY}; " if directory else ""
    program = posix_words(argv[:1])
    return f"unset SB_R; {there}command -v {program} >/dev/null || exit {NO_PROGRAM}; exec {posix_words(words)}"


def remote_text(directory: str, argv: Sequence[str], env: Mapping[str, str] = {}) -> str:
    """Return the command for ssh as text of printable ASCII, which every login shell reads alike."""
    coded = _NEEDS_CODE.sub(
        lambda byte: rb"\0%03o" % byte[0][0], inner_text(directory, argv, env).encode("utf-8", "surrogateescape")
    )
    return f"exec env SB_R='{coded.decode('ascii')}' sh -c '{_BY_LOGIN_SHELL}'"


def short_text(directory: str, argv: Sequence[str], env: Mapping[str, str] = {}) -> str | None:
    """Return a command for ssh that people can read; None if a word has a character that some shell reads otherwise."""
    words = ["env", *[f"{name}={value}" for name, value in env.items()], *argv] if env else list(argv)
    if not directory.startswith("/") or not all(_PLAIN.fullmatch(word) for word in (directory, *words)):
        return None
    return f'exec $SHELL -l -i -c "cd {directory} && exec {" ".join(words)}"'
