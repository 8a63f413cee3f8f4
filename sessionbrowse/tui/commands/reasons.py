"""Why a command cannot work here, as the sentence that the user reads; None where it can."""

from __future__ import annotations

from sessionbrowse.tui.commands.command import Here


def needs_session(here: Here) -> str | None:
    return None if here.has_session else "There is no session under the cursor."


def needs_rows(here: Here) -> str | None:
    return None if here.has_rows else "There is nothing to open here."


def needs_filter(here: Here) -> str | None:
    return None if here.has_filter else "Nothing is being searched: press / first."


def needs_fold(here: Here) -> str | None:
    return None if here.foldable else "This row has nothing to fold: only branch points and roots do."


def needs_folder(here: Here) -> str | None:
    return None if here.has_folder else "There is no folder to switch to: no session is under this directory."


def needs_block(here: Here) -> str | None:
    return None if here.blocks else "Nothing is folded on this page."


def needs_image(here: Here) -> str | None:
    return None if here.image else "No image is on this page."


def needs_families(here: Here) -> str | None:
    return None if here.folds_families else "Threads, and what a filter finds, show every session by itself."


def needs_family(here: Here) -> str | None:
    return needs_families(here) or (None if here.has_family else "No other session belongs to this one.")


def needs_branches(here: Here) -> str | None:
    return None if here.branch_points else "This session has one branch only."


def needs_labels(here: Here) -> str | None:
    return None if here.labels else "No entry of this session has a label."


def needs_damage(here: Here) -> str | None:
    return None if here.problems else "Nothing is damaged in this file."


def needs_project(here: Here) -> str | None:
    return None if here.has_project else "There is no folder under the cursor whose directory could have moved."


def needs_entry(here: Here) -> str | None:
    return None if here.has_entry else "There is no entry with an id under the cursor."


def needs_entry_id(here: Here) -> str | None:
    return None if here.has_entry_id else "The entry has no id, so no program can go on from it."


def needs_search(here: Here) -> str | None:
    return None if here.is_searching else "No search is under way."
