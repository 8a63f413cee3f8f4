"""Order in the lists: scope, sort, families folded or open, pins, projects by repository, what is shown at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from sessionbrowse.store.own.pins import Pins
from sessionbrowse.text import clean
from sessionbrowse.tui.lists.library import SORTS, Folding
from sessionbrowse.tui.shell.jobs import Job

if TYPE_CHECKING:
    from sessionbrowse.tui.lists.screen import BrowseScreen
    from sessionbrowse.tui.shell.source import Source


class DirectoryFacts(Struct, frozen=True):
    """What the disk says of directories: which exist, to where some were moved, which repository they belong to."""

    exists: dict[str, bool | None]
    moved: dict[str, str]
    repositories: dict[str, str]


def look_at(source: Source, directories: Iterable[str]) -> DirectoryFacts:
    """Ask the disk about directories. For background threads."""
    wanted = list(directories)
    exists = source.exists_many(wanted)
    gone = [path for path in wanted if exists.get(path) is False]
    there = [path for path in wanted if exists.get(path)]
    return DirectoryFacts(exists, source.moved(gone, there), source.repositories(there))


class Arranging:
    """The commands that arrange the lists of the first screen."""

    def __init__(self, screen: BrowseScreen) -> None:
        self.screen = screen

    def do_scope(self) -> None:
        """Switch between all folders and one."""
        screen = self.screen
        wanted = None if screen.folder is not None else screen.other_folder()
        screen.projects_list.go_to_key(("folder", wanted))

    def do_sort(self) -> None:
        """Show the next order."""
        screen = self.screen
        orders = SORTS if screen.filters["sessions"].is_empty else ("relevance", *SORTS)
        at = orders.index(screen.effective_sort) if screen.effective_sort in orders else -1
        screen.sort = orders[(at + 1) % len(orders)]
        screen.refresh_sessions()

    def do_named(self) -> None:
        """Show only named sessions, or all."""
        screen = self.screen
        screen.named = not screen.named
        screen.refresh_sessions()

    def do_hidden(self) -> None:
        """Show hidden sessions too, or hide them."""
        screen = self.screen
        screen.hidden = not screen.hidden
        screen.refresh_rows()
        if screen.hidden:
            # Sessions of subagents can be many and large: they are read only when somebody asks for them.
            screen.do_reload()
            screen.browser.say("Sessions of subagents and workflows are shown too.")

    def do_path(self) -> None:
        """Show or hide the paths."""
        screen = self.screen
        screen.show_path = not screen.show_path
        screen.sessions_list.refresh()

    def do_family(self) -> None:
        """Open or fold the family of the session under the cursor."""
        screen = self.screen
        summary = screen.current
        if summary is None:
            return
        screen.fold(screen.folding.flip(screen.library.family(summary.path)))

    def do_families(self) -> None:
        """Open or fold all families."""
        self.screen.fold(Folding(not self.screen.folding.all_open))

    def do_repositories(self) -> None:
        """Make one project of each repository, or of each directory."""
        screen = self.screen
        library = screen.library
        before = screen.current
        library.group_by_repository(not library.by_repository)
        if screen.folder is not None:
            # A directory's project now, or the directory that the session under the cursor names.
            folder = before.cwd if before is not None else screen.folder
            screen.folder = library.project_of(folder)
        screen.refresh_rows()
        said = "repository: all worktrees of one are together" if library.by_repository else "directory"
        screen.browser.say(f"Projects by {said}.")

    def do_archived(self) -> None:
        """Show what is archived, or what is not."""
        screen = self.screen
        screen.archived = not screen.archived
        screen.folder = None
        screen.refresh_rows(top=True)
        if screen.archived:
            # Archived sessions are read only when somebody asks for them.
            screen.do_reload()

    def do_pin(self) -> None:
        """Pin the session under the cursor, or no longer."""
        screen = self.screen
        summary = screen.current
        if summary is None:
            return
        pins = screen.library.pins
        if summary.id is None:
            screen.browser.say(
                "This session has no id, by which it could be found again: it cannot be pinned.", "warning"
            )
            return
        is_ours = (summary.agent, summary.id) in pins.own
        if not is_ours and pins.holds(summary):
            screen.browser.say("omp itself pinned this session: /pin in omp takes the pin away.", "warning")
            return
        source = screen.browser.source

        def change(job: Job) -> Pins:
            source.set_pin(summary, not is_ours)
            return source.pins()

        screen.lane("pins").ask(change)
        screen.browser.say("No longer pinned." if is_ours else f"Pinned: {clean(summary.title)[:60] or 'the session'}.")
