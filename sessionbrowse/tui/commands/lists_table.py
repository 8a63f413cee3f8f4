"""The commands of the lists, but for those that change sessions."""

from __future__ import annotations

from sessionbrowse.tui.commands.command import FIND, SHOW, Command, row
from sessionbrowse.tui.commands.contexts import (
    LIST,
    PREVIEW,
    SESSION,
    SESSIONS,
    TYPING,
)
from sessionbrowse.tui.commands.reasons import (
    needs_families,
    needs_family,
    needs_folder,
    needs_session,
)

LISTS: tuple[Command, ...] = (
    row(
        "filter",
        "slash",
        "Filter",
        'Filter the list while typing: words must all match, "a phrase" as it stands, re:pattern is a pattern.',
        (LIST, SESSION),
        FIND,
        footer=3,
    ),
    row(
        "accept_filter",
        "enter",
        "Keep filter",
        "Give the keys back to the list, which stays filtered.",
        (TYPING,),
        FIND,
        footer=1,
    ),
    row("clear_filter", "escape", "Clear filter", "Show all rows again.", (TYPING,), FIND, footer=2),
    row(
        "scope",
        "tab",
        "Scope",
        "Switch the sessions between one folder and all folders.",
        (LIST,),
        FIND,
        footer=5,
        typing=True,
        reason=needs_folder,
    ),
    row(
        "sort",
        "ctrl+s",
        "Sort",
        "Change the order: newest, threaded (forks under their parent), name, size, cost; with a filter relevance.",
        (LIST,),
        FIND,
        footer=7,
        typing=True,
    ),
    row(
        "named",
        "ctrl+n",
        "Named only",
        "Show only sessions that have a name, or all again.",
        (LIST,),
        FIND,
        footer=13,
        typing=True,
    ),
    row(
        "hidden",
        "full_stop",
        "Show hidden",
        "Show the sessions of subagents and workflows too, or hide them again.",
        (LIST,),
        FIND,
    ),
    row(
        "family",
        "o",
        "Open family",
        "Show or fold the forks, copies, runs of subagents and one-message stubs that belong to the session.",
        (LIST,),
        FIND,
        reason=needs_family,
    ),
    row("families", "O", "All families", "Show or fold all families.", (LIST,), FIND, reason=needs_families),
    row(
        "pin",
        "p",
        "Pin",
        "Keep the session at the top of its list, or no longer; what omp itself pinned is shown there too.",
        (SESSIONS, PREVIEW),
        FIND,
        reason=needs_session,
    ),
    row(
        "repositories",
        "w",
        "By repository",
        "Make one project of all worktrees and folders of a repository, or of each directory.",
        (LIST,),
        FIND,
    ),
    row("archived", "x", "Archived", "Show the archived sessions, or those that are not.", (LIST,), FIND),
    row("path", "ctrl+p", "Path", "Show the path of each session's file, or hide it.", (LIST,), SHOW, typing=True),
    row("preview", "v", "Preview", "Show or hide the preview.", (LIST,), SHOW, footer=12),
)
"""Filter, sort and scope of the lists."""
