"""The table of handlers: the file of each command that is not a method `do_<id>` of its screen.

A file has a function `do_<id>` that is given the screen. Files are imported at the first use of a command: importing
all of them takes longer than the first screen takes to paint.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from sessionbrowse.tui.commands.command import CUSTOM_ID

Handler = Callable[[Any], None]

RESUME = {"resume": "resume.resume", "resume_as": "resume.resume"}

SHARED = {
    **RESUME,
    "rename": "changes.rename",
    "fork": "changes.fork",
    "undo": "changes.undo",
    "changes": "changes.undo",
    "copy": "outside.copying:Copying",
    "copy_menu": "outside.copying:Copying",
    "edit": "outside.copying:Copying",
    "checkpoints": "search.open_search:OpenSearch",
}

LISTS = {
    **SHARED,
    "archive": "changes.archive",
    "delete": "changes.delete",
    "relocate": "changes.relocate",
    "restore": "changes.restore",
    "open": "lists.panes",
    "back": "lists.panes",
    "pane_left": "lists.panes",
    "pane_right": "lists.panes",
    "preview": "lists.panes",
    "reload": "lists.panes",
    "filter": "lists.filter",
    "accept_filter": "lists.filter",
    "clear_filter": "lists.filter",
    "sort": "lists.sort",
    "path": "lists.sort",
    "family": "lists.families",
    "families": "lists.families",
    "pin": "lists.pin",
    "scope": "lists.scope",
    "named": "lists.scope",
    "hidden": "lists.scope",
    "archived": "lists.scope",
    "repositories": "lists.scope",
    "select": "lists.selection",
    "select_up": "lists.selection",
    "select_down": "lists.selection",
    "select_range": "lists.selection",
    "select_all": "lists.selection",
    "search_all": "search.open_search:OpenSearch",
}

SESSION = {
    **SHARED,
    "label": "changes.label",
    "checkout": "changes.checkout",
    "filter": "session.tree_find:TreeFind",
    "accept_filter": "session.tree_find:TreeFind",
    "clear_filter": "session.tree_find:TreeFind",
    "next_hit": "session.tree_find:TreeFind",
    "previous_hit": "session.tree_find:TreeFind",
    "tree_page_up": "session.tree_moving:TreeMoving",
    "tree_page_down": "session.tree_moving:TreeMoving",
    "leaf": "session.tree_moving:TreeMoving",
    "next_branch": "session.tree_moving:TreeMoving",
    "previous_branch": "session.tree_moving:TreeMoving",
    "next_turn": "session.tree_moving:TreeMoving",
    "previous_turn": "session.tree_moving:TreeMoving",
    "fold": "session.tree_folding:TreeFolding",
    "unfold": "session.tree_folding:TreeFolding",
    "toggle_fold": "session.tree_folding:TreeFolding",
    "filter_default": "session.tree_filters:TreeFilters",
    "filter_no_tools": "session.tree_filters:TreeFilters",
    "filter_user_only": "session.tree_filters:TreeFilters",
    "filter_labeled_only": "session.tree_filters:TreeFilters",
    "filter_all": "session.tree_filters:TreeFilters",
    "next_filter": "session.tree_filters:TreeFilters",
    "previous_filter": "session.tree_filters:TreeFilters",
    "label_times": "session.tree_filters:TreeFilters",
    "next_view": "session.entry_view:EntryView",
    "previous_view": "session.entry_view:EntryView",
    "open_marked": "session.entry_view:EntryView",
    "open_block": "session.entry_view:EntryView",
    "open_all": "session.entry_view:EntryView",
    "next_block": "session.entry_view:EntryView",
    "previous_block": "session.entry_view:EntryView",
    "open_image": "session.entry_view:EntryView",
    "compare": "session.compare:Comparing",
    "compare_leaf": "session.compare:Comparing",
    "search_beyond": "search.open_search:OpenSearch",
}

HANDLERS = {
    "browse": LISTS,
    "session": SESSION,
    "search": RESUME,
    "checkpoints": {**RESUME, "undo": "changes.undo", "changes": "changes.undo"},
}
"""The files below `sessionbrowse.tui`, by the screen's name and the command's id."""


def find_handler(screen: str, command_id: str) -> Handler | None:
    """Return the function that carries out a command on the screen of this name; None if it has none."""
    if command_id.startswith(CUSTOM_ID):
        run = _function("resume.custom_commands", "run_custom_command")
        return lambda screen: run(screen, command_id)
    place = HANDLERS.get(screen, {}).get(command_id)
    if place is None:
        return None
    module, _, kind = place.partition(":")
    if not kind:
        return _function(module, f"do_{command_id}")
    make = _function(module, kind)
    return lambda screen: getattr(make(screen), f"do_{command_id}")()


def _function(module: str, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(import_module(f"sessionbrowse.tui.{module}"), name)
    return found
