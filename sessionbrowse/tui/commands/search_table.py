"""The commands of the search and of the checkpoints."""

from __future__ import annotations

from sessionbrowse.tui.commands.command import FIND, OPEN, SHOW, Command, row
from sessionbrowse.tui.commands.contexts import (
    CHECKPOINTS,
    FOUND,
    LIST,
    RESULTS,
    RESULTS_VIEW,
    SEARCHING,
    SESSION,
)
from sessionbrowse.tui.commands.reasons import (
    needs_entry_id,
    needs_rows,
    needs_search,
)

SEARCH: tuple[Command, ...] = (
    row(
        "search_all",
        "ctrl+f F",
        "Search all",
        "Search what was said in all sessions, on all branches, while typing.",
        (LIST,),
        FIND,
        footer=6,
        typing=True,
    ),
    row("search_beyond", "F", "Search all", "Search all sessions, not only this one.", (SESSION,), FIND),
    row(
        "checkpoints",
        "apostrophe",
        "Checkpoints",
        "List every label of every session.",
        (LIST, SESSION),
        FIND,
    ),
    row(
        "open_found",
        "enter",
        "Go there",
        "Go to the entry in its session's tree; an example of the search is put into the line.",
        (SEARCHING, RESULTS, CHECKPOINTS),
        OPEN,
        footer=1,
        reason=needs_rows,
    ),
    row(
        "leave_found",
        "escape",
        "Back",
        "Go back to where you came from; the search stays as it is.",
        (SEARCHING, FOUND),
        OPEN,
        footer=9,
    ),
    row("found_rows", "tab", "To results", "Give the keys to the results.", (SEARCHING, RESULTS_VIEW), FIND, footer=3),
    row(
        "found_view",
        "tab right l",
        "To preview",
        "Give the keys to the preview.",
        (RESULTS, CHECKPOINTS),
        FIND,
        footer=4,
    ),
    row(
        "found_line",
        "slash i",
        "Type",
        "Type in the line again.",
        (FOUND,),
        FIND,
        footer=3,
    ),
    row("found_preview", "v", "Preview", "Show or hide the preview.", (FOUND,), SHOW, footer=7),
    row(
        "search_tools",
        "ctrl+t",
        "With tools",
        "Search tool calls and results too, or what was said only.",
        (SEARCHING, RESULTS),
        FIND,
        footer=5,
    ),
    row(
        "stop_search",
        "ctrl+g",
        "Stop",
        "Stop the search; what was found stays.",
        (SEARCHING, RESULTS),
        FIND,
        footer=8,
        reason=needs_search,
    ),
    row(
        "resume_there",
        "r",
        "Resume there",
        "Check the entry out, so that the session's agent goes on from there, and run it.",
        (CHECKPOINTS,),
        OPEN,
        footer=2,
        reason=needs_entry_id,
    ),
    row("search_again", "f5", "Look again", "Look at the disk again.", (SEARCHING, RESULTS, CHECKPOINTS), SHOW),
)
"""Commands that search beyond one list or session."""
