"""Keys for the setting `habits = "pi"`: letters type into the search, so commands get Alt+letter or the keys of pi."""

from __future__ import annotations

from sessionbrowse.tui.commands.command import Command
from sessionbrowse.tui.commands.contexts import (
    EVERYWHERE,
    LIST,
    PREVIEW,
    PROJECTS,
    SESSION,
    SESSIONS,
    TREE,
    VIEW,
)

_TYPED_IN = frozenset((EVERYWHERE, LIST, PROJECTS, SESSIONS, PREVIEW, SESSION, TREE, VIEW))
"""The contexts in which a letter key types into the search line instead of running a command."""

# No command gets Alt+B or Alt+F, because some terminals send these for Ctrl+← and Ctrl+→.
_OWN = {
    "browse": "alt+s",
    "fork": "alt+shift+c",
    "label": "L alt+m",
    "label_times": "T",
    "tree_page_up": "ctrl+b left",
    "tree_page_down": "ctrl+f right",
    "branch_left": "shift+left",
    "branch_right": "shift+right",
    "fold": "ctrl+left alt+left",
    "unfold": "ctrl+right alt+right",
    "go_in": "",
    "next_turn": "alt+down",
    "previous_turn": "alt+up",
    "filter_default": "ctrl+d alt+d",
    "filter_no_tools": "ctrl+t alt+t",
    "filter_user_only": "ctrl+u",
    "filter_labeled_only": "ctrl+l alt+l",
    "filter_all": "ctrl+a alt+a",
    "next_filter": "ctrl+o",
    "previous_filter": "ctrl+shift+o",
    "previous_view": "shift+tab",
    "compare": "alt+shift+d",
    "copy_text": "ctrl+x",
    "delete": "ctrl+d delete ctrl+backspace",
    "labels": "f3",
    "cost": "f4",
    "problems": "f9",
    "filter": "",
    "leaf": "f7",
    "select": "insert",
    "help": "f1",
    "palette": "ctrl+backslash",
}
"""By command id: keys as in pi and omp, and keys for commands whose default key types a mark into the search."""


def pi_keys(command: Command) -> tuple[str, ...]:
    """Return the keys of a command for the setting `habits = "pi"`.

    A letter becomes Alt+letter. A punctuation mark never gets Alt, because not every terminal sends Alt with a mark:
    `_OWN` gives the command another key, or the command has no key and is run from the palette.
    """
    if command.id in _OWN:
        return tuple(_OWN[command.id].split())
    if _TYPED_IN.isdisjoint(command.where):
        return command.keys
    return tuple([moved for key in command.keys if (moved := _with_alt(key))])


def _with_alt(key: str) -> str:
    if len(key) == 1:
        return f"alt+shift+{key.lower()}" if key.isupper() else f"alt+{key}"
    return "" if key in _SIGNS else key


_SIGNS = (
    *("space", "slash", "colon", "question_mark", "full_stop", "apostrophe", "exclamation_mark", "dollar_sign"),
    *("left_square_bracket", "right_square_bracket", "left_curly_bracket", "right_curly_bracket"),
)
"""Textual's names of the keys for space and punctuation marks that run a command by default."""
