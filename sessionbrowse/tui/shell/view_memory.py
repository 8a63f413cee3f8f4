"""How the interface is left and opened again: what is remembered of the lists, of each tree, and of the colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from sessionbrowse.config import Settings
from sessionbrowse.store.own.remembered_views import ListView, SessionView, recall, remember, scope_key
from sessionbrowse.tui.lists.library import Folding, parse_filter

if TYPE_CHECKING:
    from sessionbrowse.tui.lists.screen import BrowseScreen
    from sessionbrowse.tui.session.screen import SessionScreen
    from sessionbrowse.tui.shell.options import BrowseOptions

_GIVEN = ("theme", "sort", "projects_by", "fold_families", "preview")


class Memory:
    """What is remembered; nothing is, nor is kept, of the demo, while a session is picked, or if the user wants so."""

    def __init__(self, options: BrowseOptions) -> None:
        self._settings = options.settings
        self._is_on = options.restores
        self._state = str(options.state)
        self._scope = scope_key(options.roots, options.agents)
        self._lists: ListView | None = None
        self._sessions: dict[str, SessionView] = {}
        self._seen: dict[str, SessionView] = {}
        if self._is_on:
            self._lists, self._sessions = recall(self._state, self._scope)

    @property
    def theme(self) -> str | None:
        """The theme that was chosen last, unless the settings name another one since."""
        view = self._lists
        return view.theme if view is not None and view.holds("theme", self._settings.theme) else None

    def forget(self) -> None:
        """Keep nothing from now on: other sessions are browsed."""
        self._is_on = False
        self._sessions, self._seen = {}, {}

    # -- the lists ----------------------------------------------------------------------------------------------

    def restore_lists(self, screen: BrowseScreen) -> None:
        """Open the first screen as it was left."""
        view, settings = self._lists, self._settings
        if view is None:
            return
        if view.holds("sort", settings.sort):
            screen.sort = view.sort
        if view.holds("preview", settings.preview) and view.preview != screen.has_class("-preview-shown"):
            screen.set_class(view.preview, "-preview-shown")
        if view.holds("projects_by", settings.projects_by):
            screen.library.by_repository = view.by_repository
        all_open = view.all_open if view.holds("fold_families", settings.fold_families) else screen.folding.all_open
        screen.folding = Folding(all_open, frozenset(view.flipped))
        screen.named, screen.show_path = view.named, view.show_path
        screen.filters = {"projects": parse_filter(view.folder_filter), "sessions": parse_filter(view.filter)}
        screen.widths = dict(view.widths)
        screen.wanted_folder, screen.wanted_session = view.folder, view.session

    def _lists_of(self, screen: BrowseScreen, theme: str) -> ListView:
        summary = screen.current
        return ListView(
            # Who leaves before the rows have come left them where they were.
            folder=screen.wanted_folder or screen.folder,
            session=screen.wanted_session or (summary.path if summary is not None else None),
            filter=screen.filters["sessions"].text,
            folder_filter=screen.filters["projects"].text,
            sort=screen.sort,
            named=screen.named,
            show_path=screen.show_path,
            preview=screen.has_class("-preview-shown"),
            by_repository=screen.library.by_repository,
            all_open=screen.folding.all_open,
            flipped=tuple(sorted(screen.folding.flipped)),
            widths=dict(screen.widths),
            theme=theme,
            given={name: getattr(self._settings, name) for name in _GIVEN},
        )

    # -- a tree -------------------------------------------------------------------------------------------------

    def session(self, path: str) -> SessionView | None:
        """Return how a session's tree was left; a choice of rows that the settings changed since is not counted."""
        view = self._seen.get(path) or self._sessions.get(path)
        if view is None or view.given.get("tree_filter") == self._settings.tree_filter:
            return view
        return replace(view, filter=self._settings.tree_filter)

    def note_session(self, screen: SessionScreen) -> None:
        """Remember how a tree is left, as long as this browser runs at least."""
        session = screen.session
        if session is None:
            return
        ids = [session.envelopes[index].id for index in sorted(screen.state.folded)]
        self._seen.pop(screen.summary.path, None)
        self._seen[screen.summary.path] = SessionView(
            # Who stands at the leaf stays at the leaf, wherever that is next time.
            entry=screen.entry_to_resume,
            filter=screen.state.filter,
            folded=tuple([identity for identity in ids if identity]),
            given={"tree_filter": self._settings.tree_filter},
        )

    def save(self, screen: BrowseScreen, theme: str) -> None:
        """Keep how everything is left for the next run.

        Raises:
            OSError: the disk refused.
        """
        if self._is_on:
            remember(self._state, self._scope, self._lists_of(screen, theme), self._seen)


def tree_filter_of(view: SessionView | None, settings: Settings) -> str:
    """Return the choice of rows with which a tree opens."""
    return view.filter if view is not None else settings.tree_filter
