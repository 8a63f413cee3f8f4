"""Functions that return the reason why a command is unavailable, as a sentence; None if it is available.

The last functions are for commands that are off while the browser runs in an agent's terminal.
"""

from __future__ import annotations

from sessionbrowse.tui.commands.command import CommandContext


def needs_session(context: CommandContext) -> str | None:
    return None if context.has_session else "There is no session under the cursor."


def needs_rows(context: CommandContext) -> str | None:
    return None if context.has_rows else "This list has no rows."


def needs_filter(context: CommandContext) -> str | None:
    return None if context.has_filter else "No search or filter is active."


def needs_fold(context: CommandContext) -> str | None:
    return None if context.foldable else "Nothing to fold here: only branch points and root entries can be folded."


def needs_folder(context: CommandContext) -> str | None:
    return None if context.has_folder else "All folders are shown, and no folder is chosen."


def needs_block(context: CommandContext) -> str | None:
    return None if context.blocks else "No fold, image or link is on this page."


def needs_image(context: CommandContext) -> str | None:
    return None if context.image else "No image is on this page."


def needs_families(context: CommandContext) -> str | None:
    return None if context.folds_families else "A threaded or filtered list has no folds."


def needs_family(context: CommandContext) -> str | None:
    if (why := needs_families(context)) is not None or context.has_family:
        return why
    # The browser does not read hidden sessions of subagents, so it cannot tell whether there are any.
    if context.shows_hidden:
        return "This session has no forks or subagents."
    return "This session has no forks; subagents are hidden."


def needs_branches(context: CommandContext) -> str | None:
    return None if context.branch_points else "This session has one branch only."


def needs_labels(context: CommandContext) -> str | None:
    return None if context.labels else "No entry of this session has a label."


def needs_mend(context: CommandContext) -> str | None:
    return None if context.can_mend else "There is no repair for this damage."


def needs_project(context: CommandContext) -> str | None:
    return None if context.has_project else "There is no folder with a directory under the cursor."


def needs_entry(context: CommandContext) -> str | None:
    return None if context.has_entry else "There is no entry with an id under the cursor."


def needs_entry_id(context: CommandContext) -> str | None:
    return None if context.has_entry_id else "The entry has no id, so no agent can resume at it."


def needs_search(context: CommandContext) -> str | None:
    return None if context.is_searching else "No search is running."


def changes_are_off(context: CommandContext) -> str:
    return f"Changes are off inside {context.caller}: run sessionbrowse in another terminal."


def agent_names_it(context: CommandContext) -> str:
    command = _NAMING.get(context.caller or "", "/name")
    return f"{context.caller} has this open; use {command}." if context.is_callers else changes_are_off(context)


def agent_labels_it(context: CommandContext) -> str:
    return f"{context.caller} has this open; use /tree." if context.is_callers else changes_are_off(context)


def agent_forks_it(context: CommandContext) -> str:
    return f"{context.caller} has this open; use /fork." if context.is_callers else changes_are_off(context)


def agent_goes_there(context: CommandContext) -> str:
    return f"{context.caller} is running: open the session or entry, and {context.caller} switches to it."


_NAMING = {"omp": "/rename"}
"""By agent: the slash command that names a session, for agents where it is not `/name`."""
