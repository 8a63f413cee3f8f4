"""The command `shell`: print a key binding for a shell; the key opens the browser and inserts a resume command."""

from __future__ import annotations

import argparse
import re

from sessionbrowse.cli.commands.integrate import own_command
from sessionbrowse.cli.output import print_lines
from sessionbrowse.cli.parser import AddCommand
from sessionbrowse.text import shell_quote

_BASH = """\
_sessionbrowse_line() {
  local chosen line
  chosen=$(@COMMAND@ pick </dev/tty) && line=$(@COMMAND@ resume "$chosen" --print) || return
  READLINE_LINE=$line
  READLINE_POINT=${#READLINE_LINE}
}
bind -x '"@KEY@": _sessionbrowse_line'
"""
_ZSH = """\
_sessionbrowse_line() {
  local chosen line
  zle -I
  if chosen=$(@COMMAND@ pick </dev/tty) && line=$(@COMMAND@ resume "$chosen" --print); then
    BUFFER=$line
    CURSOR=$#BUFFER
  fi
  zle reset-prompt
}
zle -N _sessionbrowse_line
bindkey '@KEY@' _sessionbrowse_line
"""
_FISH = """\
function _sessionbrowse_line
  if set -l chosen (@COMMAND@ pick </dev/tty | string collect)
    if set -l line (@COMMAND@ resume $chosen --print | string collect)
      commandline --replace -- $line
    end
  end
  commandline --function repaint
end
bind @KEY@ _sessionbrowse_line
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
_CONTROL = {"bash": "\\C-{}", "zsh": "^{}", "fish": "\\c{}"}
_ALT = {"bash": "\\e{}", "zsh": "^[{}", "fish": "\\e{}"}


def run_shell(arguments: argparse.Namespace) -> int:
    """Run `shell`: print the key binding as a script for the shell's start file."""
    command = " ".join(map(shell_quote, own_command()))
    script = _SCRIPTS[arguments.shell].replace("@KEY@", _key(arguments.key, arguments.shell))
    print_lines(script.replace("@COMMAND@", command).splitlines())
    return 0


def keys(text: str) -> tuple[tuple[str, str], ...]:
    """Parse keys such as `ctrl+x s` into pairs of modifier and letter; raise ArgumentTypeError for other texts."""
    presses = [re.fullmatch(r"(?:(ctrl|alt)\+)?([a-z0-9])", word) for word in text.lower().split()]
    found = [(press[1] or "", press[2]) for press in presses if press is not None]
    if not found or len(found) < len(presses) or not found[0][0]:
        raise argparse.ArgumentTypeError(f"{text!r} is not a key such as 'ctrl+x s', 'alt+s' or 'ctrl+o'")
    return tuple(found)


def _key(presses: tuple[tuple[str, str], ...], shell: str) -> str:
    forms = {"ctrl": _CONTROL[shell], "alt": _ALT[shell], "": "{}"}
    return "".join([forms[modifier].format(letter) for modifier, letter in presses])


COMMANDS = {"shell": run_shell}


def add_arguments(add: AddCommand) -> None:
    """Add the command `shell` and its arguments to the parser."""
    if shell := add(
        "shell",
        "Print a key binding that opens the browser and puts the resume command on the command line",
        json=False,
        reads=False,
    ):
        shell.add_argument("shell", choices=tuple(_SCRIPTS), help="the shell")
        default = "ctrl+x s"
        shell.add_argument("--key", type=keys, default=keys(default), metavar="KEY", help=f"default: {default!r}")
