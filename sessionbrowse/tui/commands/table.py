"""The table of all commands, from which footer, palette, help and the README's key table are made.

`command.py` defines the type of a row. The function of a command is the screen's method `do_<id>`, or is in a module
that `tui/handlers.py` lists. `contexts.py` defines the contexts of commands, `reasons.py` has the functions that
return why a command is unavailable, `keymap.py` finds the keys for the user's settings.
"""

from __future__ import annotations

from msgspec.structs import replace

from sessionbrowse.tui.commands.command import (
    CHANGE,
    FIND,
    MOVE,
    OPEN,
    PROGRAM,
    SHOW,
    TREE_GROUP,
    Command,
    in_group,
    row,
)
from sessionbrowse.tui.commands.contexts import (
    CHECKPOINTS,
    CLEANUP,
    DIALOG,
    DOCTOR,
    EVERYWHERE,
    FOUND,
    HELP,
    LIST,
    OVERLAY,
    PREVIEW,
    PROJECTS,
    PROMPT,
    RESULTS,
    RESULTS_VIEW,
    REVIEW,
    SEARCHING,
    SESSION,
    SESSIONS,
    STATS,
    TREE,
    TYPING,
    VIEW,
    WELCOME,
    WORKING,
)
from sessionbrowse.tui.commands.reasons import (
    agent_forks_it,
    agent_goes_there,
    agent_labels_it,
    agent_names_it,
    changes_are_off,
    needs_block,
    needs_branches,
    needs_entry,
    needs_entry_id,
    needs_families,
    needs_family,
    needs_filter,
    needs_fold,
    needs_folder,
    needs_image,
    needs_labels,
    needs_mend,
    needs_project,
    needs_rows,
    needs_search,
    needs_session,
)

_MARKABLE = (SESSIONS, DOCTOR, CLEANUP, REVIEW)

# Each row: id, keys, title, help, contexts, and the function that returns why the command is unavailable.
_ROWS: tuple[Command, ...] = (
    *in_group(
        MOVE,
        row("up", "up k", "Up", "Move up one row", (EVERYWHERE,)),
        row("down", "down j", "Down", "Move down one row", (EVERYWHERE,)),
        row("page_up", "pageup", "Page up", "Move up one page", (EVERYWHERE,)),
        row("page_down", "pagedown", "Page down", "Move down one page", (EVERYWHERE,)),
        row("first", "home g", "First", "Move to the first row", (EVERYWHERE,)),
        row("last", "end G", "Last", "Move to the last row", (EVERYWHERE,)),
        row(
            "pane_left", "left h", "Left pane", "Focus the left pane", (PROJECTS, SESSIONS, PREVIEW, VIEW, RESULTS_VIEW)
        ),
        row("pane_right", "right l", "Right pane", "Focus the right pane", (PROJECTS, SESSIONS, PREVIEW)),
    ),
    *in_group(
        OPEN,
        row(
            "open",
            "enter",
            "Open",
            "Open the project, session or entry",
            (PROJECTS, SESSIONS, PREVIEW, TREE, DOCTOR, CLEANUP),
            needs_rows,
        ),
        row(
            "browse",
            "b",
            "Browse",
            "Open the session's tree, or read the entry",
            (SESSIONS, PREVIEW, TREE, RESULTS, CHECKPOINTS),
            needs_rows,
        ),
        row("back", "escape", "Back", "Clear the filter, or go back", (LIST, SESSION, DOCTOR, CLEANUP, REVIEW)),
        row("resume", "r", "Resume", "Resume the session in its agent", (LIST, SESSION, RESULTS), needs_session),
        row(
            "resume_as",
            "R",
            "Resume as",
            "Choose where and how to resume the session",
            (LIST, SESSION, RESULTS, CHECKPOINTS),
            needs_session,
        ),
        row(
            "copy",
            "y ctrl+x",
            "Copy",
            "Copy the file's path, or the entry's text",
            (SESSIONS, PREVIEW, TREE, VIEW, FOUND),
            needs_session,
        ),
        row(
            "copy_menu",
            "Y",
            "Copy …",
            "Choose what to copy: text, ids, path, command",
            (SESSIONS, PREVIEW, TREE, VIEW),
            needs_session,
        ),
        row(
            "edit",
            "e",
            "Open editor",
            "View the entry or file in your editor",
            (SESSIONS, PREVIEW, TREE, VIEW),
            needs_session,
        ),
        row(
            "export",
            "E",
            "Export",
            "Export the session: HTML, Markdown, JSONL or JSON",
            (SESSIONS, PREVIEW, TREE, VIEW),
            needs_session,
        ),
        row("open_image", "i", "Open image", "Open the image in the system's viewer", (SESSION,), needs_image),
        row(
            "open_found",
            "enter",
            "Go there",
            "Open the entry in its session's tree",
            (SEARCHING, RESULTS, CHECKPOINTS),
            needs_rows,
        ),
        row("stats_open", "enter", "Open", "List the row's sessions, or open a session", (STATS,), needs_rows),
        row("stats_back", "escape", "Back", "Return to the previous table or screen", (STATS,)),
        row("leave_found", "escape", "Back", "Leave the screen; its search is kept", (SEARCHING, FOUND)),
        row(
            "resume_there", "r", "Resume there", "Check the entry out and run the agent", (CHECKPOINTS,), needs_entry_id
        ),
        row("demo", "enter", "Open demo", "Open sample sessions; nothing real is touched", (WELCOME,)),
    ),
    *in_group(
        FIND,
        row("filter", "slash", "Filter", 'Filter rows by words, "phrases" or re:pattern', (LIST, SESSION, STATS)),
        row("find_key", "slash", "Find key", "Find keys by words of their commands", (HELP,)),
        row("accept_filter", "enter", "Keep filter", "Keep the filter and focus the list", (TYPING,)),
        row("clear_filter", "escape", "Clear filter", "Clear the filter and show all rows", (TYPING,)),
        row("scope", "tab", "Scope", "Switch between one folder and all folders", (LIST, STATS), needs_folder),
        row("sort", "ctrl+s", "Sort", "Sort sessions: newest, threaded, name, size, cost", (LIST,)),
        row("named", "ctrl+n", "Named only", "Show only named sessions, or all sessions", (LIST,)),
        row("hidden", "full_stop", "Show hidden", "Show or hide sessions of subagents and workflows", (LIST,)),
        row("family", "o", "Open family", "Unfold or fold the session's forks and subagents", (LIST,), needs_family),
        row("families", "O", "All families", "Unfold or fold all forks and subagents", (LIST,), needs_families),
        row("pin", "p", "Pin", "Pin or unpin the session at the top", (SESSIONS, PREVIEW), needs_session),
        row("repositories", "w", "By repository", "Group projects by repository or by directory", (LIST,)),
        row("archived", "x", "Archived", "Switch between archived and other sessions", (LIST,)),
        row("next_hit", "n", "Next hit", "Jump to the next hit of the search", (SESSION,), needs_filter),
        row("previous_hit", "N", "Previous hit", "Jump to the previous hit of the search", (SESSION,), needs_filter),
        row("search_all", "ctrl+f F", "Search all", "Search all sessions and branches while typing", (LIST,)),
        row("search_beyond", "F", "Search all", "Search all sessions, not only this one", (SESSION,)),
        row("checkpoints", "apostrophe", "Checkpoints", "List the labels of all sessions", (LIST, SESSION)),
        row("stats", "dollar_sign", "Statistics", "Show what the sessions cost", (LIST,)),
        row("stats_table", "b", "Next table", "Show the next table: costs by model, project, …", (STATS,)),
        row("stats_period", "v", "Period", "Chart the costs by day, week or month", (STATS,)),
        row("stats_times", "t", "Times", "Limit costs to a month, week or day", (STATS,)),
        row("stats_sort", "ctrl+s", "Sort", "Sort by cost, abandoned branches, tokens, time, name", (STATS,)),
        row("stats_again", "f5", "Count again", "Compute the costs of the sessions again", (STATS,)),
        row("found_sort", "ctrl+s", "Order", "Sort results: best or newest first", (SEARCHING, RESULTS)),
        row("found_rows", "tab", "To results", "Focus the search results", (SEARCHING, RESULTS_VIEW)),
        row("found_view", "tab right l", "To preview", "Focus the preview", (RESULTS, CHECKPOINTS)),
        row("found_line", "slash i", "Type", "Focus the search line", (FOUND,)),
        row(
            "search_tools", "ctrl+t", "With tools", "Search tool calls and results, or skip them", (SEARCHING, RESULTS)
        ),
        row(
            "stop_search",
            "ctrl+g",
            "Stop",
            "Stop the search; keep the results found",
            (SEARCHING, RESULTS),
            needs_search,
        ),
    ),
    *in_group(
        SHOW,
        row("path", "ctrl+p", "Path", "Show or hide the file paths", (LIST,)),
        row("preview", "v", "Preview", "Show or hide the preview", (LIST,)),
        row("wider", "greater_than_sign", "Wider", "Widen the focused pane", (LIST, SESSION)),
        row("narrower", "less_than_sign", "Narrower", "Narrow the focused pane", (LIST, SESSION)),
        row("zoom", "z", "Zoom", "Zoom the focused pane, or restore it", (LIST, SESSION)),
        row("damage", "exclamation_mark", "Damage", "Show where the session file is damaged", (SESSION,)),
        row("doctor", "exclamation_mark", "Doctor", "Find damage in selected or all sessions", (LIST,)),
        row("cleanup", "C", "Clean up", "List sessions to clean up, with reasons", (LIST,)),
        row("reload", "f5", "Reload", "Scan the disk again", (LIST, SESSION, WELCOME, CLEANUP)),
        row("next_view", "tab", "Switch view", "Show the next view: Entry, Context, Raw, Diff", (SESSION,)),
        row(
            "previous_view",
            "shift+tab",
            "Previous view",
            "Show the previous view: Entry, Context, Raw, Diff",
            (SESSION,),
        ),
        row(
            "open_marked",
            "enter space",
            "Open fold",
            "Open the highlighted fold, image or entry link",
            (VIEW,),
            needs_block,
        ),
        row("open_block", "o", "Unfold", "Open or close the entry's highlighted fold", (SESSION,), needs_block),
        row("open_all", "O", "Unfold all", "Open or close all folds of the view", (SESSION,)),
        row(
            "next_block",
            "right_square_bracket",
            "Next fold",
            "Highlight the next fold, image or link",
            (VIEW,),
            needs_block,
        ),
        row(
            "previous_block",
            "left_square_bracket",
            "Previous fold",
            "Highlight the previous fold, image or link",
            (VIEW,),
            needs_block,
        ),
        row("found_preview", "v", "Preview", "Show or hide the preview", (FOUND,)),
        row("search_again", "f5", "Look again", "Scan the disk again", (SEARCHING, RESULTS, CHECKPOINTS)),
    ),
    *in_group(
        TREE_GROUP,
        row(
            "compare",
            "d",
            "Compare",
            "Mark two entries to compare their branches",
            (TREE, VIEW),
            needs_rows,
        ),
        row(
            "compare_leaf", "D", "Compare leaf", "Compare this branch with the active branch", (TREE, VIEW), needs_rows
        ),
        row("tree_page_up", "ctrl+b", "Page up", "Move up one page, as in pi", (TREE,)),
        row("tree_page_down", "ctrl+f", "Page down", "Move down one page, as in pi", (TREE,)),
        row("branch_left", "left", "Branch left", "Jump to the previous sibling branch", (TREE,), needs_branches),
        row(
            "branch_right",
            "right",
            "Branch right",
            "Jump to the next sibling branch",
            (TREE,),
            needs_branches,
        ),
        row("fold_all", "minus", "Fold all", "Fold or unfold all branches", (TREE,), needs_branches),
        row("fold", "ctrl+left alt+left h", "Fold", "Fold the branch, or jump to its start", (TREE,)),
        row("unfold", "ctrl+right alt+right l", "Unfold", "Unfold the branch, or jump to its end", (TREE,)),
        row("toggle_fold", "space", "Fold rows", "Fold or unfold the branches below the row", (TREE,), needs_fold),
        row(
            "next_branch",
            "right_square_bracket",
            "Next branch",
            "Jump to the next branch point",
            (TREE,),
            needs_branches,
        ),
        row(
            "previous_branch",
            "left_square_bracket",
            "Previous branch",
            "Jump to the previous branch point",
            (TREE,),
            needs_branches,
        ),
        row("next_turn", "alt+down", "Next turn", "Jump to the next message, as in omp", (TREE,)),
        row("previous_turn", "alt+up", "Previous turn", "Jump to the previous message, as in omp", (TREE,)),
        row("leaf", "full_stop", "To leaf", "Jump to the leaf", (TREE,)),
        row("filter_default", "1 ctrl+d alt+d", "Usual rows", "Show the rows the agent shows by default", (TREE,)),
        row("filter_no_tools", "2 ctrl+t alt+t", "No tools", "Hide or show tool results", (TREE,)),
        row("filter_user_only", "3 ctrl+u alt+u", "User only", "Show only user messages, or the default rows", (TREE,)),
        row(
            "filter_labeled_only",
            "4 ctrl+l alt+l",
            "Labelled only",
            "Show only labelled entries, or the default rows",
            (TREE,),
            needs_labels,
        ),
        row("filter_all", "5 ctrl+a alt+a", "All rows", "Show all entries, or the default rows", (TREE,)),
        row("next_filter", "ctrl+o", "Next filter", "Switch to the next tree filter", (TREE,)),
        row("previous_filter", "ctrl+shift+o", "Previous filter", "Switch to the previous tree filter", (TREE,)),
        row("mark_branch", "x", "Mark branch", "Mark the entry and its descendants for pruning", (TREE,), needs_entry),
        row("answer_costs", "C", "Answer costs", "Show or hide the costs of model answers", (TREE,)),
        row("label_times", "T", "Label times", "Show or hide the times of labels", (TREE,), needs_labels),
    ),
    *in_group(
        CHANGE,
        row(
            "rename",
            "ctrl+r",
            "Rename",
            "Name the session, or clear its name",
            (SESSIONS, PREVIEW, SESSION),
            needs_session,
        ),
        row("label", "L m", "Label", "Label the entry, or clear its label", (TREE, VIEW), needs_entry),
        row("checkout", "c", "Check out", "Make the agent resume at this entry", (TREE, VIEW), needs_entry),
        row(
            "fork",
            "f",
            "Fork",
            "Fork the session, or one path of it",
            (SESSIONS, PREVIEW, TREE, VIEW),
            needs_session,
        ),
        row(
            "delete",
            "ctrl+d delete ctrl+backspace",
            "Delete",
            "Move the session's files to the trash",
            (SESSIONS, PREVIEW, DOCTOR, CLEANUP),
            needs_session,
        ),
        row("prune", "X", "Prune", "Drop branches from the session, after a preview", (TREE, VIEW), needs_rows),
        row("shrink", "S", "Shrink", "Drop images, large tool output, old reasoning", (TREE, VIEW), needs_rows),
        row(
            "redact",
            "K",
            "Redact",
            "Copy the session with secrets masked",
            (SESSIONS, PREVIEW, TREE, VIEW),
            needs_session,
        ),
        row("mask", "enter", "Mask marked", "Mask the marked secrets, keep the rest", (REVIEW,)),
        row("archive", "a", "Archive", "Archive the session, or unarchive it", (SESSIONS, PREVIEW), needs_session),
        row("restore", "t", "Trash", "List deleted sessions and restore one", (LIST,)),
        row(
            "relocate",
            "M",
            "Relocate",
            "Update the directory of a moved project's sessions",
            (LIST,),
            needs_project,
        ),
        row("select", "space", "Select", "Select or unselect the session", _MARKABLE, needs_session),
        row("select_up", "shift+up", "Select up", "Extend the selection upwards", _MARKABLE, needs_session),
        row("select_down", "shift+down", "Select down", "Extend the selection downwards", _MARKABLE, needs_session),
        row(
            "select_range", "V", "Select range", "Start or end selecting by moving the cursor", _MARKABLE, needs_session
        ),
        row(
            "select_all", "A ctrl+a", "Select all", "Select or unselect all rows of the list", _MARKABLE, needs_session
        ),
        row("mend", "m", "Mend", "Repair, check out, relocate or delete the session", (DOCTOR,), needs_mend),
        row("undo", "u", "Undo", "Undo the last change, even after a restart", (LIST, SESSION, DOCTOR, CLEANUP)),
        row("changes", "U", "Undo history", "List the changes that can be undone", (LIST, SESSION, DOCTOR, CLEANUP)),
        row("accept", "enter y", "Accept", "Accept the answer", (DIALOG, PROMPT)),
        row("cancel", "escape ctrl+c n q", "Cancel", "Close the dialog without changing anything", (DIALOG, PROMPT)),
        row("stop", "escape ctrl+c", "Stop", "Stop the work; keep what is finished", (WORKING,)),
    ),
    *in_group(
        PROGRAM,
        row("close", "escape q question_mark enter", "Close", "Close the window", (OVERLAY,)),
        row("help", "question_mark f1", "Help", "Show every key of the current screen", (EVERYWHERE,)),
        row("palette", "colon ctrl+backslash", "Commands", "Find a command by name and run it", (EVERYWHERE,)),
        row("theme", "f2", "Theme", "Switch colours: dark, light, high contrast, terminal", (EVERYWHERE,)),
        row(
            "paint_again",
            "ctrl+l",
            "Paint again",
            "Paint the whole screen again",
            (LIST, VIEW, FOUND, OVERLAY, WELCOME, DIALOG, WORKING),
        ),
        row("suspend", "ctrl+z", "Suspend", "Return to the shell; its fg brings sessionbrowse back", (EVERYWHERE,)),
        row("quit", "q ctrl+q ctrl+c", "Quit", "Leave sessionbrowse", (EVERYWHERE,)),
    ),
)

_IN_AGENT = {
    "rename": agent_names_it,
    "label": agent_labels_it,
    "fork": agent_forks_it,
    **dict.fromkeys(("checkout", "resume", "resume_as", "resume_there"), agent_goes_there),
    **dict.fromkeys(("pin", "demo"), changes_are_off),
    **dict.fromkeys(("select", "select_up", "select_down", "select_range", "select_all"), None),
    **dict.fromkeys(("accept", "cancel", "stop"), None),
}
"""By command id: a function that returns why the command is off inside an agent; None if the command stays on.

Inside an agent means: an agent runs the browser in its terminal. Commands of the group `CHANGE` that are missing in
this table are off.
"""

COMMANDS = tuple(
    [
        replace(each, off_in_agent=_IN_AGENT.get(each.id, changes_are_off if each.group == CHANGE else None))
        for each in _ROWS
    ]
)
"""Every command, by group, in the order of the help screen."""

_FOOTER_IDS = """
    open browse mask mend stats_open stats_table stats_times stats_period stats_sort
    stats_back accept_filter open_marked open_found close demo resume clear_filter resume_there filter found_rows
    found_line next_view found_view rename label scope next_filter search_tools checkout delete toggle_fold
    search_all select sort found_preview stop_search undo back leave_found relocate fork archive preview compare
    named palette quit help
"""
FOOTER = tuple(_FOOTER_IDS.split())
"""Ids of the commands that the footer shows, in this order, if they work in the current contexts."""

_WHILE_TYPING_IDS = """
    up down page_up page_down scope sort named path next_filter previous_filter search_all rename delete suspend quit
"""
WHILE_TYPING = tuple(_WHILE_TYPING_IDS.split())
"""Ids of the commands that also work while a filter line is focused."""

BY_ID = {command.id: command for command in COMMANDS}
"""All commands of the command table, by id."""
