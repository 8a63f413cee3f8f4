"""Keys for the setting `habits = "pi"`: letters type a filter, so commands get Alt+letter or the keys of pi."""

from __future__ import annotations

from sessionbrowse.tui.commands.command import Command
from sessionbrowse.tui.commands.contexts import (
    CHECKPOINTS,
    EVERYWHERE,
    FOUND,
    LIST,
    PREVIEW,
    PROJECTS,
    RESULTS,
    RESULTS_VIEW,
    SESSION,
    SESSIONS,
    TREE,
    VIEW,
)

_TYPED_IN = frozenset(
    (EVERYWHERE, LIST, PROJECTS, SESSIONS, PREVIEW, SESSION, TREE, VIEW, FOUND, RESULTS, RESULTS_VIEW, CHECKPOINTS)
)
"""The contexts in which a letter key types into the filter line instead of running a command."""

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
    "filter_default": "ctrl+d",
    "filter_no_tools": "ctrl+t",
    "filter_user_only": "ctrl+u",
    "filter_labeled_only": "ctrl+l",
    "filter_all": "ctrl+a",
    "checkpoints": "f3",
    "stats": "f4",
    "cleanup": "f6",
    "answer_costs": "f8",
    "damage": "f9",
    "doctor": "f9",
    "filter": "",
    "hidden": "f7",
    "leaf": "f7",
    "select": "insert",
}
"""By command id: keys as in pi, and keys for commands whose default key types a punctuation mark into the filter."""


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
    *("minus", "less_than_sign", "greater_than_sign", "left_square_bracket", "right_square_bracket"),
)
"""Textual's names of the keys for space and punctuation marks that run a command by default."""
