"""Commands of the first screen: search, sort, scope, pins and families of sessions, and moving between its panes."""

from __future__ import annotations

from functools import partial

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.store.own.pins import Pins
from sessionbrowse.text import clean
from sessionbrowse.tui.commands.command import SEARCHING, TYPING
from sessionbrowse.tui.commands.table import BY_ID
from sessionbrowse.tui.data.library import FOUND_SORTS, SORTS, Folding, after
from sessionbrowse.tui.lists.screen import PANES, BrowseScreen
from sessionbrowse.tui.shell.change_plan import ChangeRun
from sessionbrowse.tui.shell.command_screen import opens_by_resuming
from sessionbrowse.tui.shell.paned_screen import ROOM_FOR
from sessionbrowse.tui.widgets.filter_line import FilterLine

# -- panes ------------------------------------------------------------------------------------------------------------


def do_open(screen: BrowseScreen) -> None:
    """Open the row under the cursor: on a project, focus the session list; on a session, show, resume or pick it.

    If the rows are still those of an earlier query, wait for the results of the typed one. If that is not a valid
    query, the search line says why.
    """
    if screen.typing and screen.pane != "projects" and screen.search.refuses():
        screen.say_found()
    elif screen.typing and screen.search.is_unanswered:
        screen.search.when_answered(lambda: screen.run_command(BY_ID["open"]))
    elif screen.pane == "projects":
        screen.set_focus(screen.sessions_list)
    elif opens_by_resuming(screen):
        screen.run_command(screen.browser.keys.by_id["resume"])
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
            # Focus the list, so that after the return from the tree letters run commands instead of changing the query.
            screen.set_focus(screen.sessions_list)
    index, entry_id = (hit.entry_index, hit.entry_id) if hit is not None else (None, None)
    screen.browser.open_tree(summary, index, entry_id, searched)


def do_back(screen: BrowseScreen) -> None:
    """Go one step back: focus the session list, clear the selection, stop or end the search, leave the archive.

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
    elif screen.state.archived:
        do_archived(screen)
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


# -- families ---------------------------------------------------------------------------------------------------------


def do_family(screen: BrowseScreen) -> None:
    """Unfold or fold the forks and subagents of the session under the cursor, or all hits of a found session."""
    summary = screen.subject
    if summary is None:
        return
    if not screen.state.searched:
        fold(screen, screen.state.folding.flip(screen.state.library.family(summary.path)))
    elif not screen.search.unfold(summary.path):
        screen.browser.say("All hits of this session are shown.")


def do_families(screen: BrowseScreen) -> None:
    """Unfold or fold all families (forks and subagents) in the session list."""
    fold(screen, Folding(not screen.state.folding.all_open))


def fold(screen: BrowseScreen, folding: Folding) -> None:
    """Fold or unfold families (related sessions under one row) as `folding` says, and update the session list."""
    screen.state.folding = folding
    screen.refresh_sessions()


# -- pins -------------------------------------------------------------------------------------------------------------


class NotPinned(SessionBrowseError):
    """Error: the file of pins could not be written."""


def do_pin(screen: BrowseScreen) -> None:
    """Pin the session under the cursor, or unpin it."""
    browser, summary, pins = screen.browser, screen.subject, screen.state.library.pins
    if summary is None:
        return
    if summary.id is None:
        browser.say("This session has no id, so it cannot be pinned.", "warning")
        return
    is_ours = (summary.agent, summary.id) in pins.own
    if not is_ours and pins.holds(summary):
        browser.say("This session is pinned in omp. To unpin it, type /pin in omp.", "warning")
        return
    source = browser.source

    def change(run: ChangeRun) -> Pins:
        try:
            source.set_pin(summary, not is_ours)
        except OSError as error:
            raise NotPinned(f"The pin cannot be saved: {error.strerror or error}.") from error
        return source.pins()

    def show(pins: Pins) -> None:
        screen.lane("pins").cancel()  # Pins that were read before are out of date.
        screen.updates.show_pins(pins)
        browser.say("No longer pinned." if is_ours else f"Pinned: {clean(summary.title)[:60] or 'the session'}.")

    browser.changes.run(change, show)


# -- scope ------------------------------------------------------------------------------------------------------------


def do_scope(screen: BrowseScreen) -> None:
    """Switch the session list between all projects and one project."""
    state = screen.state
    # At the start the list may show the last run's project (`wanted_project`), which has no row yet: switch to all.
    is_project = state.project is not None or state.wanted_project is not None
    state.wanted_project = None
    screen.projects_list.go_to_key(("project", None if is_project else state.other_project(screen.subject)))
    if is_project and state.project is None:
        # The cursor is on "All projects" already, so it does not move, and no message refreshes the rows.
        screen.refresh_sessions(top=True)
        screen.refresh_header()


def do_named(screen: BrowseScreen) -> None:
    """Switch between only named sessions and all sessions."""
    screen.state.named = not screen.state.named
    screen.refresh_sessions()


def do_hidden(screen: BrowseScreen) -> None:
    """Show or hide the sessions of subagents and workflows."""
    state = screen.state
    state.hidden = not state.hidden
    screen.refresh_rows()
    if state.hidden:
        # Scan the sessions of subagents only now, when the list shows them, because scanning them can take long.
        do_reload(screen)
        screen.browser.say("The list now includes sessions of subagents and workflows.")


def do_archived(screen: BrowseScreen) -> None:
    """Switch between showing only archived sessions and only sessions that are not archived."""
    state = screen.state
    state.archived = not state.archived
    state.project = None
    screen.refresh_rows(top=True)
    if state.archived:
        # Scan again: a scan includes archived sessions only while the list shows them.
        do_reload(screen)


def do_repositories(screen: BrowseScreen) -> None:
    """Group projects by repository, or by directory again."""
    state, library, current = screen.state, screen.state.library, screen.subject
    library.by_repository = not library.by_repository
    if state.project is not None:
        # The chosen project may have no row in the new grouping: use the project of the session under the cursor.
        state.project = library.project_of(current.cwd if current is not None else state.project)
    screen.refresh_rows()
    said = "repository (all worktrees)" if library.by_repository else "directory"
    screen.browser.say(f"Grouped projects by {said}.")


# -- order and columns ------------------------------------------------------------------------------------------------


def do_sort(screen: BrowseScreen) -> None:
    """Switch to the next sort order of the sessions, or of the search results."""
    state = screen.state
    if not state.searched:
        state.sort = after(SORTS, state.sort)
        screen.refresh_sessions()
        return
    state.found_sort = after(FOUND_SORTS, state.found_sort)
    screen.search.ask(top=True)


def do_search_tools(screen: BrowseScreen) -> None:
    """Include tool calls and results in the search, or exclude them again."""
    search, status = screen.search, screen.browser.search_client.status
    search.tools = not search.tools
    if search.tools and status is not None and status.has_index and not status.has_tools:
        screen.browser.say(
            "The index does not contain tool calls and results, so the search reads all files, which is slow. "
            "To add them to the index, run: sessionbrowse index --rebuild --tools"
        )
    search.ask(top=True)


def do_path(screen: BrowseScreen) -> None:
    """Show or hide the path of each session's file."""
    screen.state.show_path = not screen.state.show_path
    screen.sessions_list.refresh()


HINT = 'words "a phrase" -word after:7d agent: project: label: role: re: …'


# -- search -----------------------------------------------------------------------------------------------------------


def do_filter(screen: BrowseScreen) -> None:
    """Open the text line, in which the user searches the sessions, or filters the projects if they are focused."""
    state, line = screen.state, screen.query_one(FilterLine)
    if screen.pane == "projects":
        state.filtered, screen.TYPING_CONTEXT = "projects", TYPING
        line.open("/", state.project_words, "a project's name", replacing=True)
    else:
        open_line(screen, screen.search.text)
        # Start the search program now, so that the first typed letter is answered without delay.
        screen.after_frame(screen.search.prepare)
    screen.say_found()


def open_line(screen: BrowseScreen, text: str) -> None:
    """Open the search line with a text, which the next typed letter replaces."""
    screen.state.filtered, screen.TYPING_CONTEXT = "sessions", SEARCHING
    screen.query_one(FilterLine).open("/", text, HINT, replacing=True)
    screen.preview.show()


def search_for(screen: BrowseScreen, text: str) -> None:
    """Open the search line with a query, to which the user may add, and search for it."""
    screen.search.set_text(text)
    open_line(screen, text)
    screen.query_one(FilterLine).input.cursor_position = len(text)
    screen.say_found()


def do_keep_search(screen: BrowseScreen) -> None:
    """Focus the found sessions; with the setting `habits = "pi"`, where letters type a query, end the search."""
    if screen.browser.keys.types or not screen.search.is_active:
        end_search(screen)
        return
    screen.queries.add(screen.search.text)
    screen.set_focus(screen.sessions_list)
    screen.preview.show()


def end_search(screen: BrowseScreen) -> None:
    """Close the search line and list all sessions again; the cursor stays on its session."""
    screen.queries.add(screen.state.searched)
    subject, came_from = screen.subject, screen.left_session
    screen.left_session = None
    screen.set_focus(screen.sessions_list)
    screen.query_one(FilterLine).close()
    screen.search.set_text("")
    if subject is not None and not screen.sessions_list.go_to_key(subject.path) and not screen.state.is_flat:
        # The session has no row, because it is folded under a related session: unfold the family.
        fold(screen, screen.state.folding.flip(screen.state.library.family(subject.path)))
        screen.sessions_list.go_to_key(subject.path)
    screen.preview.show()
    if came_from is not None:
        screen.browser.open_tree(came_from)


def do_accept_filter(screen: BrowseScreen) -> None:
    """Keep the words that filter the projects, and focus the list of projects."""
    screen.set_focus(screen.projects_list)
    if not screen.state.project_words:
        screen.query_one(FilterLine).close()
    elif screen.projects_list.cursor == 0:
        # The first row is always "All projects", so move the cursor to the first project that matches the filter.
        screen.projects_list.go_down()


def do_clear_filter(screen: BrowseScreen) -> None:
    """Clear the words that filter the projects, so that all are listed again."""
    screen.set_focus(screen.projects_list)
    screen.state.project_words = ""
    screen.query_one(FilterLine).close()
    screen.refresh_projects()


def do_labels(screen: BrowseScreen) -> None:
    """List the labels of all sessions: the sessions that have labels, with their labelled entries."""
    search_for(screen, "label:")


def recall(screen: BrowseScreen, step: int) -> bool:
    """Bring back an earlier query (`step` -1) into the search line, or a later one (1); False if there is none."""
    if not screen.typing or screen.state.filtered != "sessions" or screen.browser.keys.types:
        return False
    text = screen.queries.recalled(screen.search.text, step)
    if text is None:
        return False
    search_for(screen, text)
    return True


def _go(screen: BrowseScreen, step: int) -> None:
    """Bring back another query in an empty search line, or move by a row, after typed words in what is found."""
    if recall(screen, step):
        return
    if screen.typing and screen.pane == "sessions" and screen.search.is_unanswered:
        screen.search.when_answered(partial(_go, screen, step))
    elif (moving := screen.moving()) is not None:
        (moving.go_down if step > 0 else moving.go_up)()


do_up = partial(_go, step=-1)
"""Move up one row; in an empty search line, bring back the previous query."""
do_down = partial(_go, step=1)
"""Move down one row; in a search line with an earlier query, bring back the next query."""
