"""Find the function `do_<id>(screen)` that runs a command; for each screen, list the modules with such functions.

The app imports this module after its first paint.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from sessionbrowse.tui import copying
from sessionbrowse.tui.changes import actions, archive, checkout, delete, fork, label, relocate, rename, undo
from sessionbrowse.tui.commands.command import CUSTOM_ID
from sessionbrowse.tui.dialogs import help, palette, text_window
from sessionbrowse.tui.lists import list_commands
from sessionbrowse.tui.resume import resume
from sessionbrowse.tui.resume.custom_commands import run_custom_command
from sessionbrowse.tui.session import session_commands
from sessionbrowse.tui.shell import common_commands
from sessionbrowse.tui.stats import screen as stats_screen

EVERY_SCREEN = (common_commands, actions, help, text_window, palette)
LISTS = (list_commands, stats_screen)
SESSION = (label, checkout, session_commands)
BOTH = (archive, delete, relocate, rename, fork, undo, copying, resume)

LATER = {
    **dict.fromkeys(("cleanup", "problems", "mend", "other_problems"), "clean.doctor_screen"),
    **dict.fromkeys(("prune", "shrink"), "clean.clean_copy"),
    "export": "clean.export_session",
    "redact": "clean.redact_session",
    "convert": "resume.convert",
    "look": "lists.look",
}
"""By command id: the module in `tui` to import on first use; importing all at the start would take 10 ms."""

MODULES = {
    "browse": (*LISTS, *BOTH, *EVERY_SCREEN),
    "session": (*SESSION, *BOTH, *EVERY_SCREEN),
    "doctor": (delete, relocate, undo, *EVERY_SCREEN),
    "cleanup": (undo, *EVERY_SCREEN),
}
"""By screen name: the modules with the command functions of the screen; other screens use only `EVERY_SCREEN`."""


def function_of(screen: str, command_id: str) -> Callable[[Any], None] | None:
    """Return the function `do_<id>` that runs a command on the named screen; None if no module has it."""
    if command_id.startswith(CUSTOM_ID):
        return partial(run_custom_command, command_id=command_id)
    modules = MODULES.get(screen, EVERY_SCREEN)
    if command_id in LATER and screen in MODULES:
        modules = (import_module(f"sessionbrowse.tui.{LATER[command_id]}"),)
    found = (getattr(module, f"do_{command_id}", None) for module in modules)
    return next((function for function in found if function is not None), None)
