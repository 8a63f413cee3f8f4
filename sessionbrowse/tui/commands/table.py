"""The table of all commands, from which footer, palette, help and the key table of docs/keys.md are made.

`command.py` defines the type of a row, the contexts of commands, and the functions that return why a command is
unavailable. The function of a command is the screen's method `do_<id>`, or is in a module that `tui/handlers.py` lists.
`keymap.py` finds the keys for the user's settings.
"""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from sessionbrowse.tui.commands.command import (
    CHANGE,
    CLEANUP,
    DIALOG,
    DOCTOR,
    EVERYWHERE,
    FIND,
    HELP,
    LIST,
    MOVE,
    OPEN,
    OVERLAY,
    PREVIEW,
    PROGRAM,
    PROJECTS,
    PROMPT,
    REVIEW,
    SEARCHING,
    SESSION,
    SESSIONS,
    SHOW,
    STATS,
    TREE,
    TREE_GROUP,
    TREE_LINE,
    TYPING,
    VIEW,
    WELCOME,
    WORKING,
    Command,
    agent_does_it,
    agent_goes_there,
    agent_names_it,
    changes_are_off,
    in_group,
    needs_block,
    needs_branches,
    needs_entry,
    needs_families,
    needs_family,
    needs_filter,
    needs_fold,
    needs_image,
    needs_labels,
    needs_mend,
    needs_one,
    needs_project,
    needs_rows,
    needs_scopes,
    needs_session,
    row,
)

_PANES = (PROJECTS, SESSIONS, PREVIEW)
_MOVABLE = (LIST, SESSION, DOCTOR)
_SPAN_HELP = "Limit costs to 30 days, 7 days, a month, today"
_ROWS_HELP = "Show usual rows, no tools, user, labelled, all"
_EXTEND = "Extend the selection"
_FOLDS_HELP = "Go to the next or previous fold, image or link"
_BRANCHES_HELP = "Go to the next or previous branch"
_SELECTABLE = (SESSIONS, TREE, DOCTOR, CLEANUP, REVIEW)
_ON_SESSION = (SESSIONS, PREVIEW, SESSION)
_ON_ENTRY = (TREE, VIEW)
_OPENED = (PROJECTS, SESSIONS, PREVIEW, SEARCHING, TREE, DOCTOR, CLEANUP)
_WITH_ROWS = (LIST, SESSION, DOCTOR, CLEANUP)

# Each row: id, keys, title, help, contexts, and the function that returns why the command is unavailable.
_ROWS: tuple[Command, ...] = (
    *in_group(
        MOVE,
        row("up", "up k", "Up", "Move up or down", (EVERYWHERE,), verb="Move"),
        row("down", "down j", "Down", "Move up or down", (EVERYWHERE,), verb="Move"),
        row("page_up", "pageup", "Page up", "Move by a page", (EVERYWHERE,), verb="Page"),
        row("page_down", "pagedown", "Page down", "Move by a page", (EVERYWHERE,), verb="Page"),
        row("half_up", "{", "Half up", "Move by half a page", (EVERYWHERE,), verb="Half page"),
        row("half_down", "}", "Half down", "Move by half a page", (EVERYWHERE,), verb="Half page"),
        row("first", "home g", "First", "Move to the first or last row", (EVERYWHERE,), verb="Ends"),
        row("last", "end G", "Last", "Move to the first or last row", (EVERYWHERE,), verb="Ends"),
        row("pane_left", "left h", "Left pane", "Focus the pane beside", (*_PANES, VIEW), verb="Panes"),
        row("pane_right", "right l", "Right pane", "Focus the pane beside", _PANES, verb="Panes"),
        row("fold", "left h", "Fold", "Fold, or go to the branch's start; unfold, or go in", (TREE,), verb="Fold"),
        row("go_in", "right l", "Go in", "Fold, or go to the branch's start; unfold, or go in", (TREE,), verb="Fold"),
    ),
    *in_group(
        OPEN,
        row("open", "enter", "Open", "Open the project, session or entry", _OPENED, needs_rows),
        row("stats_open", "enter", "Open", "List the row's sessions, or open a session", (STATS,), needs_rows),
        row("open_marked", "enter", "Open", "Open the highlighted fold, image or link", (VIEW,), needs_block),
        row(
            "browse",
            "b",
            "Browse",
            "Open the tree, also if Enter resumes or chooses",
            (SESSIONS, PREVIEW, TREE),
            needs_rows,
        ),
        row("back", "escape", "Back", "Clear the search or selection, or go back", (*_WITH_ROWS, REVIEW, WELCOME)),
        row("stats_back", "escape", "Back", "Clear the search, or return to the previous table or screen", (STATS,)),
        row(
            "keep_search",
            "escape",
            "Keep search",
            "Leave the search line; keep what was found",
            (SEARCHING,),
            verb="Back",
        ),
        row(
            "clear_filter",
            "escape",
            "Clear search",
            "Clear the search and show all rows",
            (TYPING, TREE_LINE),
            verb="Back",
        ),
        row("cancel", "escape", "Back", "Close the dialog without changing anything", (DIALOG, PROMPT)),
        row("stop", "escape", "Back", "Stop the work; keep what is finished", (WORKING,)),
        row("close", "escape", "Back", "Close the window", (OVERLAY,)),
        row("actions", "x", "Actions", "Every verb for the row or the selected rows", _WITH_ROWS),
        row("resume", "r", "Resume", "Resume the session in its agent", _ON_SESSION, needs_session),
        row("resume_as", "R", "Resume as", "Choose where and how to resume the session", _ON_SESSION, needs_session),
        row("copy", "y", "Copy", "Copy text, id, path or command", _ON_SESSION, needs_session),
        row("copy_text", "", "Copy text", "Copy the entry's text, or the file's path", _ON_SESSION, needs_session),
        row("edit", "", "Open editor", "Read the entry or file in your editor", _ON_SESSION, needs_one),
        row("export", "", "Export", "Write HTML, Markdown or JSON, masked if wanted", _ON_SESSION, needs_one),
        row("open_image", "", "Open image", "Open the image in the system's viewer", (SESSION,), needs_image),
        row("demo", "enter", "Open demo", "Open sample sessions; nothing real is touched", (WELCOME,)),
    ),
    *in_group(
        FIND,
        row("filter", "/", "Search", "Search by words, and filters such as after:7d", (LIST, SESSION, STATS)),
        row("accept_filter", "enter", "Keep search", "Keep the search and focus the list", (TYPING, TREE_LINE)),
        row("find_key", "/", "Search", "Find keys by words of their commands", (HELP,)),
        row("next_hit", "n", "Next hit", "Go to the next or previous hit", (SESSION,), needs_filter, verb="Hits"),
        row(
            "previous_hit", "N", "Previous hit", "Go to the next or previous hit", (SESSION,), needs_filter, verb="Hits"
        ),
        row("scope", "tab", "Scope", "List this project or all", (LIST, STATS), needs_scopes),
        row("sort", "ctrl+s", "Sort", "Sort: newest, threaded, name, size, cost; best", (LIST,)),
        row("stats_sort", "ctrl+s", "Sort", "Sort by cost, abandoned branches, tokens, time, name", (STATS,)),
        row("search_tools", "ctrl+t", "With tools", "Search tool calls and results too", (LIST,)),
        row("named", "ctrl+n", "Named only", "Show only named sessions, or all sessions", (LIST,)),
        row("search_beyond", "tab", "All sessions", "Search all sessions for the same words", (TREE_LINE,)),
        row("hidden", "", "Show hidden", "Show or hide sessions of subagents and workflows", (LIST,)),
        row("family", "o", "Unfold", "Unfold or fold forks, subagents, or hits", (SESSIONS, PREVIEW), needs_family),
        row("open_block", "o", "Unfold", "Open or close the entry's highlighted fold", (SESSION,), needs_block),
        row("families", "", "All families", "Unfold or fold all forks and subagents", (LIST,), needs_families),
        row("pin", "p", "Pin", "Pin or unpin the session at the top", (SESSIONS, PREVIEW), needs_session),
        row("repositories", "", "By repository", "Group projects by repository or by directory", (LIST,)),
        row("archived", "", "Archived", "Show only archived sessions, or only the others", (LIST,)),
        row("labels", "'", "Labels", "List the labels of all sessions", (LIST, SESSION)),
        row("cost", "$", "Cost", "Show what the sessions cost", (LIST,)),
        row("stats_table", "", "Tables", "Choose a table: costs by model, project, …", (STATS,)),
        row("stats_period", "", "Period", "Chart the costs by day, week or month", (STATS,)),
        row("stats_times", "", "Span", "Limit costs to a month, week or day", (STATS,)),
        row("stats_next_span", "]", "Limit days", _SPAN_HELP, (STATS,), verb="Spans"),
        row("stats_previous_span", "[", "Previous span", _SPAN_HELP, (STATS,), verb="Spans"),
    ),
    *in_group(
        SHOW,
        row("path", "ctrl+p", "Path", "Show or hide the file paths", (LIST,)),
        row("preview", "v", "Preview", "Show or hide the preview", (LIST,)),
        row("wider", "", "Wider", "Widen the focused pane", (LIST, SESSION)),
        row("narrower", "", "Narrower", "Narrow the focused pane", (LIST, SESSION)),
        row("zoom", "z", "Zoom", "Zoom the focused pane, or restore it", (LIST, SESSION)),
        row("problems", "!", "Problems", "Find problems in selected or all sessions", (LIST, SESSION)),
        row("other_problems", "tab", "Other view", "Show damage, or what could go", (DOCTOR, CLEANUP)),
        row("cleanup", "", "Clean up", "List sessions to clean up, with reasons", (LIST,)),
        row("reload", "f5", "Scan again", "Scan the disk again", (LIST, SESSION, WELCOME, CLEANUP)),
        row("look", "ctrl+l", "Look again", "Read what is new on other machines, or stop", (LIST,)),
        row("stats_again", "f5", "Scan again", "Compute the costs of the sessions again", (STATS,)),
        row("next_view", "tab", "View", "Show the next view: Entry, Context, Diff, Raw", (SESSION,)),
        row("previous_view", "", "Previous view", "Show the previous view: Entry, Context, Diff, Raw", (SESSION,)),
        row("open_all", "", "Unfold all", "Open or close all folds of the view", (SESSION,)),
        row("next_block", "]", "Next fold", _FOLDS_HELP, (VIEW,), needs_block, verb="Folds"),
        row("previous_block", "[", "Previous fold", _FOLDS_HELP, (VIEW,), needs_block, verb="Folds"),
    ),
    *in_group(
        TREE_GROUP,
        row("next_branch", "]", "Next branch", _BRANCHES_HELP, (TREE,), needs_branches, verb="Branches"),
        row("previous_branch", "[", "Previous branch", _BRANCHES_HELP, (TREE,), needs_branches, verb="Branches"),
        row("leaf", ".", "To leaf", "Go to the leaf", (TREE,)),
        row("compare", "d", "Compare", "Compare with the active branch; or two entries", _ON_ENTRY, needs_rows),
        row("filter_default", "1", "Usual rows", _ROWS_HELP, (TREE,), verb="Rows"),
        row("filter_no_tools", "2", "No tools", _ROWS_HELP, (TREE,), verb="Rows"),
        row("filter_user_only", "3", "User only", _ROWS_HELP, (TREE,), verb="Rows"),
        row("filter_labeled_only", "4", "Labelled only", _ROWS_HELP, (TREE,), needs_labels, verb="Rows"),
        row("filter_all", "5", "All rows", _ROWS_HELP, (TREE,), verb="Rows"),
        row("next_filter", "", "Next filter", "Switch to the next tree filter", (TREE,)),
        row("previous_filter", "", "Previous filter", "Switch to the previous tree filter", (TREE,)),
        row("tree_page_up", "", "Tree up", "Move up one page, as in pi", (TREE,)),
        row("tree_page_down", "", "Tree down", "Move down one page, as in pi", (TREE,)),
        row("branch_left", "", "Branch left", "Go to the previous sibling branch", (TREE,), needs_branches),
        row("branch_right", "", "Branch right", "Go to the next sibling branch", (TREE,), needs_branches),
        row("unfold", "", "Unfold branch", "Unfold the branch, or go to its end", (TREE,)),
        row("toggle_fold", "", "Fold rows", "Fold or unfold the branches below the row", (TREE,), needs_fold),
        row("fold_all", "", "Fold all", "Fold or unfold all branches", (TREE,), needs_branches),
        row("next_turn", "", "Next turn", "Go to the next message, as in omp", (TREE,)),
        row("previous_turn", "", "Previous turn", "Go to the previous message, as in omp", (TREE,)),
        row("answer_costs", "", "Answer costs", "Show or hide the costs of model answers", (TREE,)),
        row("label_times", "", "Label times", "Show or hide the times of labels", (TREE,), needs_labels),
    ),
    *in_group(
        CHANGE,
        row(
            "select", "space", "Select ↓", "Select or unselect the row, go down", _SELECTABLE, needs_rows, verb="Select"
        ),
        row("select_up", "shift+up", "Select up", _EXTEND, _SELECTABLE, needs_rows, verb="Extend"),
        row("select_down", "shift+down", "Select down", _EXTEND, _SELECTABLE, needs_rows, verb="Extend"),
        row("select_range", "V", "Select range", "Begin or end to select by moving", _SELECTABLE, needs_rows),
        row("select_all", "A", "Select all", "Select or unselect all rows", _SELECTABLE, needs_rows),
        row("rename", "ctrl+r", "Rename", "Name the session, or clear its name", _ON_SESSION, needs_session),
        row("label", "L", "Label", "Label the entry, or clear its label", _ON_ENTRY, needs_entry),
        row("fork", "f", "Fork", "Fork the session, or the path to the entry", _ON_SESSION, needs_session),
        row(
            "delete",
            "ctrl+d",
            "Delete",
            "Move the session's files to the trash",
            (*_ON_SESSION, DOCTOR, CLEANUP),
            needs_session,
        ),
        row("checkout", "", "Check out", "Make the agent resume at this entry", _ON_ENTRY, needs_entry),
        row("archive", "", "Archive", "Hide the session from its agent, or show it", _ON_SESSION, needs_session),
        row("relocate", "", "Move", "Move the project's sessions to another directory", _MOVABLE, needs_project),
        row("convert", "", "Continue in", "Carry the session over to another agent", _ON_SESSION, needs_one),
        row("redact", "", "Mask secrets", "Copy the session file with secrets masked", _ON_SESSION, needs_one),
        row("prune", "", "Prune", "Drop branches, after a preview", _ON_ENTRY, needs_rows),
        row("shrink", "", "Shrink", "Drop images, large output, old reasoning", _ON_ENTRY, needs_rows),
        row("mend", "", "Repair", "Find damage and repair it", (*_ON_SESSION, DOCTOR), needs_mend),
        row("mask", "enter", "Mask selected", "Mask the selected secrets, keep the rest", (REVIEW,)),
        row("undo", "u", "Undo", "Undo the last change, even after a restart", _WITH_ROWS),
        row("changes", "U", "Undo list", "List what can be taken back: changes and trash", _WITH_ROWS),
        row("complete", "tab", "Complete", "Complete the typed path", (PROMPT,)),
        row("accept", "enter", "Accept", "Accept the answer", (DIALOG, PROMPT)),
    ),
    *in_group(
        PROGRAM,
        row("help", "?", "Help", "Show every key of the screen, and all signs", (EVERYWHERE,)),
        row("palette", ":", "Commands", "Find a command by name and run it", (EVERYWHERE,)),
        row("messages", "", "Messages", "Read the last messages again", (EVERYWHERE,)),
        row("settings", "", "Settings", "Open the settings file in your editor", (LIST, SESSION)),
        row("theme", "f2", "Colours", "Next colours: dark, light, high contrast, terminal", (EVERYWHERE,)),
        row("paint_again", "", "Paint again", "Paint the whole screen again", (EVERYWHERE,)),
        row("suspend", "ctrl+z", "Suspend", "Return to the shell; its fg brings sessionbrowse back", (EVERYWHERE,)),
        row("quit", "q ctrl+c", "Leave", "Leave the window, or sessionbrowse", (EVERYWHERE,)),
    ),
)

_IN_AGENT = {
    "rename": agent_names_it,
    "label": partial(agent_does_it, "/tree"),
    "fork": partial(agent_does_it, "/fork"),
    **dict.fromkeys(("checkout", "resume", "resume_as"), agent_goes_there),
    **dict.fromkeys(("pin", "demo"), changes_are_off),
    **dict.fromkeys(("select", "select_up", "select_down", "select_range", "select_all"), None),
    **dict.fromkeys(("accept", "cancel", "stop"), None),
}
"""By command id: a function that returns why the command is off inside an agent; None if the command stays on.

Inside an agent means: an agent runs the browser in its terminal. Commands of the group `CHANGE` that are missing in
this table are off.
"""

_ACTIONS = """
    resume resume_as convert=n checkout=c fork label rename copy compare edit=e export=t relocate=m archive=a redact=i
    prune=b shrink=s mend=w pin family delete
"""
_LETTERS = {command_id: letter for command_id, _, letter in [each.partition("=") for each in _ACTIONS.split()]}
"""By id of a command in the actions menu: its letter there; "" for a command that only has a key."""
ACTIONS = tuple(_LETTERS)
"""Ids of the commands in the actions menu, in its order; the user's own commands follow."""

COMMANDS = tuple(
    [
        replace(
            each,
            letter=_LETTERS.get(each.id, ""),
            off_in_agent=_IN_AGENT.get(each.id, changes_are_off if each.group == CHANGE else None),
        )
        for each in _ROWS
    ]
)
"""Every command, by group, in the order of the help screen."""

_FOOTER_IDS = """
    open mask stats_open demo stats_back stats_next_span accept_filter open_marked browse resume clear_filter
    keep_search search_beyond next_hit back filter delete actions next_view other_problems scope search_tools compare
    select cost undo sort close palette quit help
"""
FOOTER = tuple(_FOOTER_IDS.split())
"""Ids of the commands that the footer shows, in this order, if they work in the current contexts."""
FOOTER_KEYS = 9
"""Maximum number of commands in the footer; the last is the help."""

_WHILE_TYPING_IDS = """
    up down page_up page_down scope sort named path search_tools search_beyond rename delete suspend quit
"""
WHILE_TYPING = tuple(_WHILE_TYPING_IDS.split())
"""Ids of the commands that also work while a search line is focused."""

WHILE_TYPING_SHOWN = ("scope", "search_tools")
"""Ids of those commands that the footer also shows while a search line is focused."""

BY_ID = {command.id: command for command in COMMANDS}
"""All commands of the command table, by id."""
