"""Functions that return the reason why a command is unavailable, as a sentence; None if it is available.

The last functions are for commands that are off while the browser runs in an agent's terminal.
"""

from __future__ import annotations

from collections.abc import Callable

from sessionbrowse.tui.commands.command import CommandContext


def _needs(has: Callable[[CommandContext], object], reason: str) -> Callable[[CommandContext], str | None]:
    """Return a function that returns `reason` if `has` is false for the state of the screen, else None."""
    return lambda context: None if has(context) else reason


needs_session = _needs(lambda context: context.has_session, "There is no session under the cursor.")


def needs_one(context: CommandContext) -> str | None:
    if context.selected > 1:
        return f"It works on one session, and {context.selected:,} are selected."
    return needs_session(context)


needs_rows = _needs(lambda context: context.has_rows, "This list has no rows.")
needs_filter = _needs(lambda context: context.has_filter, "No search or filter is active.")
needs_fold = _needs(
    lambda context: context.foldable, "Nothing to fold here: only branch points and root entries can be folded."
)
needs_scopes = _needs(lambda context: context.has_scopes, "All projects are shown; there is no other to switch to.")
needs_block = _needs(lambda context: context.blocks, "This page has no fold, image or link.")
needs_image = _needs(lambda context: context.image, "This page has no image.")
needs_families = _needs(lambda context: context.folds_families, "A threaded or filtered list has no folds.")


def needs_family(context: CommandContext) -> str | None:
    if (why := needs_families(context)) is not None or context.has_family:
        return why
    # The browser does not read hidden sessions of subagents, so it cannot tell whether there are any.
    if context.shows_hidden:
        return "This session has no forks or subagents."
    return "This session has no forks; subagents are hidden."


needs_branches = _needs(lambda context: context.branch_points, "This session has one branch only.")
needs_labels = _needs(lambda context: context.labels, "No entry of this session has a label.")
needs_mend = _needs(lambda context: context.can_mend, "There is no repair for this damage.")
needs_project = _needs(lambda context: context.has_project, "There is no project with a directory under the cursor.")
needs_entry = _needs(lambda context: context.has_entry, "There is no entry with an id under the cursor.")


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
