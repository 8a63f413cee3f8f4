"""The table of commands: footer, palette, help and the README's key table are made from it.

A command is data (`command.py`). The function that carries it out is the method `do_<id>` of the screen, or stands in
the file that `tui/handlers.py` names. `contexts.py` says where a command works, `reasons.py` why it cannot work now,
`keymap.py` which keys it has for this user.
"""

from __future__ import annotations

from sessionbrowse.tui.commands.changes_table import CHANGES
from sessionbrowse.tui.commands.command import MOVE, OPEN, PROGRAM, SHOW, Command, row
from sessionbrowse.tui.commands.contexts import (
    CHECKPOINTS,
    EVERYWHERE,
    FOUND,
    LIST,
    OVERLAY,
    PREVIEW,
    PROJECTS,
    RESULTS,
    RESULTS_VIEW,
    SESSION,
    SESSIONS,
    TREE,
    VIEW,
    WELCOME,
)
from sessionbrowse.tui.commands.lists_table import LISTS
from sessionbrowse.tui.commands.reasons import (
    needs_damage,
    needs_rows,
    needs_session,
)
from sessionbrowse.tui.commands.search_table import SEARCH
from sessionbrowse.tui.commands.session_table import READING, TREE_COMMANDS

PANES = (PROJECTS, SESSIONS, PREVIEW)

MOVING: tuple[Command, ...] = (
    row("up", "up k", "Up", "Move up by one row.", (EVERYWHERE,), MOVE, typing=True),
    row("down", "down j", "Down", "Move down by one row.", (EVERYWHERE,), MOVE, typing=True),
    row("page_up", "pageup", "Page up", "Move up by one page.", (EVERYWHERE,), MOVE, typing=True),
    row("page_down", "pagedown", "Page down", "Move down by one page.", (EVERYWHERE,), MOVE, typing=True),
    row("first", "home g", "First", "Move to the first row.", (EVERYWHERE,), MOVE),
    row("last", "end G", "Last", "Move to the last row.", (EVERYWHERE,), MOVE),
    row(
        "pane_left",
        "left h",
        "Left pane",
        "Give the keys to the pane on the left.",
        (*PANES, VIEW, RESULTS_VIEW),
        MOVE,
    ),
    row("pane_right", "right l", "Right pane", "Give the keys to the pane on the right.", PANES, MOVE),
    row(
        "open",
        "enter",
        "Open",
        "Go in: from a project to its sessions, to a session's tree, to an entry. Never starts a program.",
        (PROJECTS, SESSIONS, PREVIEW, TREE),
        OPEN,
        footer=1,
        reason=needs_rows,
    ),
    row(
        "back",
        "escape",
        "Back",
        "Clear the filter, or go back to where you came from.",
        (LIST, SESSION),
        OPEN,
        footer=9,
    ),
    row(
        "resume",
        "r",
        "Resume",
        "Run the session's own agent on it in its directory; the browser comes back afterwards, or stays beside it.",
        (LIST, SESSION, RESULTS),
        OPEN,
        footer=2,
        reason=needs_session,
    ),
    row(
        "resume_as",
        "R",
        "Resume as",
        "Choose where to resume: here, in a tmux window or split, by a command; in the tree also from the entry.",
        (LIST, SESSION, RESULTS, CHECKPOINTS),
        OPEN,
        reason=needs_session,
    ),
)
"""Moving the cursor and between panes, opening and resuming."""

SHOWING: tuple[Command, ...] = (
    row(
        "wider",
        "greater_than_sign",
        "Wider",
        "Make the pane wider that has the keys.",
        (LIST, SESSION),
        SHOW,
    ),
    row("narrower", "less_than_sign", "Narrower", "Make the pane narrower.", (LIST, SESSION), SHOW),
    row(
        "zoom", "z", "Zoom", "Give the pane that has the keys the whole screen, or give it back.", (LIST, SESSION), SHOW
    ),
    row(
        "copy",
        "y ctrl+x",
        "Copy",
        "Copy: in lists the path of the session's file, in the tree and beside it the text of the entry.",
        (SESSIONS, PREVIEW, TREE, VIEW, FOUND),
        OPEN,
        reason=needs_session,
    ),
    row(
        "damage",
        "exclamation_mark",
        "Damage",
        "Show where the session's file is damaged, and how.",
        (SESSION,),
        SHOW,
        reason=needs_damage,
    ),
    row(
        "copy_menu",
        "Y",
        "Copy …",
        "Choose what to copy: text, raw line, ids, path, directory, the command that resumes.",
        (SESSIONS, PREVIEW, TREE, VIEW),
        OPEN,
        reason=needs_session,
    ),
    row(
        "edit",
        "e",
        "Open copy",
        "Open a copy of the entry in $VISUAL, $EDITOR or $PAGER; in Raw and in the lists one of the session's file.",
        (SESSIONS, PREVIEW, TREE, VIEW),
        OPEN,
        reason=needs_session,
    ),
    row("reload", "f5", "Reload", "Read the disk again.", (LIST, SESSION, WELCOME), SHOW),
    row("next_view", "tab", "Switch view", "Show the next of Entry, Context, Raw, Diff.", (SESSION,), SHOW, footer=4),
    row("previous_view", "shift+tab", "View before", "Show the view before.", (SESSION,), SHOW),
)
"""Widths of panes, copying, reloading and views."""

PROGRAM_COMMANDS: tuple[Command, ...] = (
    row("close", "escape q question_mark enter", "Close", "Close the help.", (OVERLAY,), PROGRAM, footer=1),
    row(
        "demo",
        "enter",
        "Open demo",
        "Open a made-up store of all four agents in a temporary directory.",
        (WELCOME,),
        OPEN,
        footer=1,
    ),
    row("help", "question_mark f1", "Help", "Show every key that works here.", (EVERYWHERE,), PROGRAM, footer=99),
    row(
        "palette",
        "colon ctrl+backslash",
        "Commands",
        "Find a command by its name and run it.",
        (EVERYWHERE,),
        PROGRAM,
        footer=20,
    ),
    row(
        "theme",
        "f2",
        "Theme",
        "Change the colours: dark, light, high contrast, the terminal's own.",
        (EVERYWHERE,),
        PROGRAM,
    ),
    row("quit", "q ctrl+q ctrl+c", "Quit", "Leave sessionbrowse.", (EVERYWHERE,), PROGRAM, footer=30, typing=True),
)
"""Windows, themes and leaving."""

COMMANDS = (*MOVING, *LISTS, *SHOWING, *READING, *TREE_COMMANDS, *SEARCH, *CHANGES, *PROGRAM_COMMANDS)
"""Every command, in the order in which help lists them."""

BY_ID = {command.id: command for command in COMMANDS}
