"""Functions that return the reason why a command is unavailable, as a sentence; None if it is available."""

from __future__ import annotations

from sessionbrowse.tui.commands.command import CommandContext


def needs_session(context: CommandContext) -> str | None:
    return None if context.has_session else "There is no session under the cursor."


def needs_rows(context: CommandContext) -> str | None:
    return None if context.has_rows else "There is nothing to open here."


def needs_filter(context: CommandContext) -> str | None:
    return None if context.has_filter else "Nothing is being searched: press / first."


def needs_fold(context: CommandContext) -> str | None:
    return None if context.foldable else "This row has nothing to fold: only branch points and roots do."


def needs_folder(context: CommandContext) -> str | None:
    return None if context.has_folder else "There is no folder to switch to: no session is under this directory."


def needs_block(context: CommandContext) -> str | None:
    return None if context.blocks else "Nothing is folded on this page."


def needs_image(context: CommandContext) -> str | None:
    return None if context.image else "No image is on this page."


def needs_families(context: CommandContext) -> str | None:
    return None if context.folds_families else "Threads, and what a filter finds, show every session by itself."


def needs_family(context: CommandContext) -> str | None:
    return needs_families(context) or (None if context.has_family else "No other session belongs to this one.")


def needs_branches(context: CommandContext) -> str | None:
    return None if context.branch_points else "This session has one branch only."


def needs_labels(context: CommandContext) -> str | None:
    return None if context.labels else "No entry of this session has a label."


def needs_damage(context: CommandContext) -> str | None:
    return None if context.problems else "Nothing is damaged in this file."


def needs_project(context: CommandContext) -> str | None:
    return None if context.has_project else "There is no folder under the cursor whose directory could have moved."


def needs_entry(context: CommandContext) -> str | None:
    return None if context.has_entry else "There is no entry with an id under the cursor."


def needs_entry_id(context: CommandContext) -> str | None:
    return None if context.has_entry_id else "The entry has no id, so no program can go on from it."


def needs_search(context: CommandContext) -> str | None:
    return None if context.is_searching else "No search is under way."
