"""Commands of the first screen that move between projects, sessions and preview, and open a session."""

from __future__ import annotations

from functools import partial

from sessionbrowse.tui.commands.table import BY_ID
from sessionbrowse.tui.lists.filter import do_clear_filter, end_search
from sessionbrowse.tui.lists.screen import PANES, BrowseScreen
from sessionbrowse.tui.shell.command_screen import opens_by_resuming
from sessionbrowse.tui.shell.paned_screen import ROOM_FOR


def do_open(screen: BrowseScreen) -> None:
    """Open the row under the cursor: on a project, focus the session list; on a session, show, resume or pick it.

    While the rows still show what an earlier query found, wait for what the typed one finds; if it is no valid query,
    say why in the search line.
    """
    if screen.typing and screen.pane != "projects" and screen.search.refuses():
        screen.say_found()
    elif screen.typing and screen.search.is_unanswered and not screen.sessions_list.was_moved:
        screen.search.when_answered(lambda: screen.give(BY_ID["open"]))
    elif screen.pane == "projects":
        screen.set_focus(screen.sessions_list)
    elif opens_by_resuming(screen):
        screen.give(screen.browser.keys.by_id["resume"])
    elif screen.subject is not None and screen.browser.options.pick is not None:
        hit, searched = screen.hit or (None, "")
        is_entry = hit is not None and screen.browser.options.pick.needs_entry
        index, entry_id = (hit.entry_index, hit.entry_id) if hit is not None and is_entry else (None, None)
        screen.browser.show_session(screen.subject, index, entry_id, searched)
    else:
        do_browse(screen)


def do_browse(screen: BrowseScreen) -> None:
    """Open the tree of the session under the cursor; the command "open" can instead resume or pick the session.

    The tree opens at the hit under the cursor, on a found session's own row at its best hit.
    """
    summary = screen.subject
    if summary is None:
        return
    hit, searched = screen.hit or (None, screen.search.searched)
    if screen.state.searched:
        screen.queries.add(screen.search.text)
        if screen.typing:
            # Coming back from the tree, letters are commands for the found sessions.
            screen.set_focus(screen.sessions_list)
    index, entry_id = (hit.entry_index, hit.entry_id) if hit is not None else (None, None)
    screen.browser.open_tree(summary, index, entry_id, searched)


def do_back(screen: BrowseScreen) -> None:
    """Go one step back: focus the session list, clear the selection, stop or end the search.

    If no step is left, end the browser, but only with the setting `habits = "pi"` or in `sessionbrowse pick`.
    """
    pane = screen.pane
    if pane == "preview":
        screen.set_focus(screen.sessions_list)
    elif pane == "sessions" and screen.sessions_list.marks:
        screen.sessions_list.clear_marks()
    elif pane == "sessions" and (screen.search.is_active or screen.state.searched):
        if not screen.search.stop():
            end_search(screen)
    elif pane == "projects" and screen.state.project_words:
        do_clear_filter(screen)
    elif pane == "projects":
        screen.set_focus(screen.sessions_list)
    elif screen.browser.options.pick is not None or screen.browser.keys.types:
        screen.browser.leave()
    else:
        screen.browser.say(f"This is the first screen. {screen.browser.keys.key_of('quit')} leaves sessionbrowse.")


def _step(screen: BrowseScreen, delta: int) -> None:
    at = PANES.index(screen.pane) + delta
    if 0 <= at < len(PANES):
        if PANES[at] == "preview":
            screen.preview.set_shown(True)
        screen.set_focus(screen.query_one(f"#{PANES[at]}"))


do_pane_left = partial(_step, delta=-1)
"""Focus the next pane on the left: the sessions from the preview, the projects from the sessions."""
do_pane_right = partial(_step, delta=1)
"""Focus the next pane on the right: the sessions from the projects, the preview from the sessions."""


def do_preview(screen: BrowseScreen) -> None:
    """Show or hide the preview pane; on a narrow screen the preview replaces the lists."""
    if screen.size.width >= ROOM_FOR["preview"]:
        screen.preview.set_shown(not screen.has_class("-preview-shown"))
    elif screen.pane == "preview":
        screen.set_focus(screen.sessions_list)
    else:
        screen.preview.set_shown(True)
        screen.set_focus(screen.query_one("#preview"))


def do_reload(screen: BrowseScreen) -> None:
    """Scan the disk again for new and changed sessions."""
    screen.updates.begin()
    screen.search.again()
    screen.browser.start_scan(include_hidden=screen.state.hidden or screen.state.archived)
