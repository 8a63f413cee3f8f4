"""The saved state of the screens (lists, trees, theme): loaded when the browser starts, saved when it ends."""

from __future__ import annotations

from msgspec.structs import replace

from sessionbrowse.store.own.remembered_views import ListView, SessionView, recall, remember, scope_key
from sessionbrowse.tui.data.options import BrowseOptions
from sessionbrowse.tui.paint import theme
from sessionbrowse.tui.paint.textual_compat import terminal_colors

_BY_SETTING = {"sort": "sort", "preview": "preview", "projects_by": "by_repository", "fold_families": "all_open"}
"""By setting: the part of the saved state that it replaces, if the user changed the setting after the save."""


class ViewMemory:
    """The state of the screens (cursor, folded rows …) at the end of the last run, restored at the next start.

    Nothing is loaded or saved in the demo, in `sessionbrowse pick`, or if the settings say so.
    """

    def __init__(self, options: BrowseOptions) -> None:
        self._options = options
        self._settings = options.settings
        self._is_on = options.restores
        self._scope = scope_key(options.roots, options.shown_agents)
        self._lists: ListView | None = None
        self._sessions: dict[str, SessionView] = {}
        self._seen: dict[str, SessionView] = {}
        if self._is_on:
            self._lists, self._sessions = recall(str(options.state), self._scope)
        self._wanted_theme = theme.textual_name(self.theme or self._settings.theme) or theme.DARK
        self.first_theme = theme.fitting(self._wanted_theme, terminal_colors(options.environ))
        """The theme in which the browser starts, by the name that Textual has for it."""

    @property
    def theme(self) -> str | None:
        """The saved theme; None if no theme is saved, or if the user changed it in the settings after the save."""
        view = self._lists
        return view.theme if view is not None and self._holds(view, "theme") else None

    def forget(self) -> None:
        """Forget how trees were left, and save nothing from now on, because the browser switches to the demo."""
        self._is_on = False
        self._sessions, self._seen = {}, {}

    @property
    def lists(self) -> ListView:
        """The state (sort order, cursor …) in which the lists open: as saved, except for settings changed afterwards.

        In `sessionbrowse pick`, or if nothing was saved, the state comes from the settings and options.
        """
        settings, left = self._settings, self._lists
        view = ListView(
            sort=settings.sort,
            preview=settings.preview,
            by_repository=settings.projects_by == "repository",
            all_open=not settings.fold_families,
        )
        pick, here = self._options.pick, self._options.here
        if pick is not None:
            return replace(view, project=here if pick.here else None)
        project = here if settings.scope == "project" else None
        if left is None:
            return replace(view, project=project)
        changed = {name: getattr(view, name) for setting, name in _BY_SETTING.items() if not self._holds(left, setting)}
        return replace(left, project=project, **changed)

    def _holds(self, view: ListView, setting: str) -> bool:
        return view.holds(setting, getattr(self._settings, setting))

    def session(self, path: str) -> SessionView:
        """Return the saved cursor and folded branches of a session's tree.

        With the setting `habits = "pi"`, return default values instead.
        """
        if self._settings.habits == "pi":
            return SessionView()  # As in pi, the tree opens at the leaf, with nothing folded.
        return self._seen.get(path) or self._sessions.get(path) or SessionView()

    def note_session(self, path: str, view: SessionView) -> None:
        """Remember how the user left a session's tree; `save` writes this to a file when the browser ends."""
        self._seen.pop(path, None)
        self._seen[path] = view

    def save(self, lists: ListView, shown: str) -> None:
        """Write to a file how the user left the lists and the trees of opened sessions, and the theme that is shown.

        Raises:
            OSError: the file cannot be written.
        """
        if self._is_on:
            given = {setting: getattr(self._settings, setting) for setting in ("theme", *_BY_SETTING)}
            view = replace(lists, theme=self._wanted_theme if shown == self.first_theme else shown, given=given)
            remember(str(self._options.state), self._scope, view, self._seen)
