"""The base class of the app, with all that screens use of it: sessions, keys in typed order, messages, themes.

Screens and commands import this class instead of the app's own, which imports the screens.
"""

from __future__ import annotations

import asyncio
import re
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Hashable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from msgspec import Struct
from textual import events
from textual.theme import Theme
from textual.timer import Timer

from sessionbrowse.model.listing.directories import machine_in
from sessionbrowse.text import clean
from sessionbrowse.tui.data.jobs import Lane
from sessionbrowse.tui.data.library import Library
from sessionbrowse.tui.outside.editor import TemporaryCopies
from sessionbrowse.tui.outside.terminal import lend_terminal, terminal_is_gone
from sessionbrowse.tui.paint import theme
from sessionbrowse.tui.paint.signals import EXIT_HANDLER
from sessionbrowse.tui.paint.textual_compat import CompatApp, CompatScreen
from sessionbrowse.tui.paint.textual_driver import terminal_driver
from sessionbrowse.tui.shell.view_memory import ViewMemory
from sessionbrowse.tui.widgets.span_view import KeyBar

if TYPE_CHECKING:
    from sessionbrowse.model.listing.summary import Summary
    from sessionbrowse.model.session.session import Session
    from sessionbrowse.services.background.pattern_worker import PatternWorker
    from sessionbrowse.services.resume.plan import ResumeCommand
    from sessionbrowse.tui.commands.keymap import Keys
    from sessionbrowse.tui.data.options import BrowseOptions
    from sessionbrowse.tui.data.search_client import SearchClient
    from sessionbrowse.tui.data.source import SessionCache, SessionUpdates, Source
    from sessionbrowse.tui.shell.change_plan import Changes

Result = TypeVar("Result")

OTHER_STYLES = Path(__file__).parents[1] / "screens.tcss"
"""The style sheet of all screens except the first screen; Textual parses it after the first paint."""
MOST_MESSAGES = 200
"""Maximum number of messages that can be read again."""
Severity = Literal["information", "warning", "error"]


class Said(Struct, frozen=True):
    """A message for the user: when it was shown, in milliseconds since 1970, its text and how serious it is."""

    time_ms: float
    sentence: str
    severity: Severity


SILENCE = Said(0, "", "information")
"""No message."""


FunctionOf = Callable[[str, str], Callable[[Any], None] | None]
"""A function (name of a screen, id of a command) that returns the function which runs the command; None for none."""


class FoundEntry(Struct, frozen=True):
    """A found entry of a session, or the session itself (`index` is None)."""

    summary: Summary
    index: int | None
    entry_id: str | None


class BaseScreen(CompatScreen[Result], inherit_bindings=False):
    """A screen as the app uses it; `shell.command_screen` is the base class of all screens."""

    place: Hashable = None
    """The project or session that the screen is about; None for a dialog. An undo from another place asks first."""

    def sessions_changed(self, updates: SessionUpdates) -> None:
        """Update the screen for sessions that changed on disk."""


class TerminalApp(CompatApp, inherit_bindings=False):
    """A Textual app with sessionbrowse's themes, messages safe for any text, and keys handled in typed order."""

    message: Said = SILENCE
    """The message above the footer."""
    MESSAGE_SECONDS = 4.0
    """Number of seconds after which a message disappears."""

    def __init__(self, options: BrowseOptions) -> None:
        self.options = options
        self.home = options.home
        """The home directory, which messages shorten to `~`."""
        self.memory = ViewMemory(options)
        # A change of theme makes Textual parse all styles again, so the theme is set before Textual first parses them.
        self.set_reactive(TerminalApp.theme, self.memory.first_theme)
        super().__init__(driver_class=terminal_driver())
        self._waiting_keys: deque[events.Key | events.Paste] = deque()
        self._holds_keys = False
        self.messages: deque[Said] = deque(maxlen=MOST_MESSAGES)
        """The last messages, oldest first, to be read again."""

    @cached_property
    def _message_timer(self) -> Timer:
        return self.set_timer(self.MESSAGE_SECONDS, self.unsay, pause=True)

    def now_ms(self) -> float:
        """Return the time in milliseconds since 1970."""
        return self.options.now_ms()

    # -- the terminal and signals ------------------------------------------------------------------------------

    def leave_with_signal(self, number: int) -> None:
        """Save how the user left the screens, and end the program because of the signal `number`."""

    def leave_if_terminal_is_gone(self) -> None:
        """End the program if its terminal was closed."""
        if terminal_is_gone():
            self.leave_with_signal(1)

    def leave_on_signals(self) -> None:
        """Make signals such as SIGTERM end the program from its event loop, so that threads and locks are released."""
        loop = asyncio.get_running_loop()
        EXIT_HANDLER.request = lambda number: loop.call_soon_threadsafe(self.leave_with_signal, number)

    # -- keys ---------------------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Handle each key press, and each paste, completely before the next one.

        Textual passes keys through several queues. If the user typed `/auth` quickly, all five keys would go to the
        focused list: the letters `auth` would run commands instead of being typed in the filter line that `/` opens.
        """
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            if event.time < self.stopped_until:
                return
            if self._holds_keys or self._waiting_keys:
                self._waiting_keys.append(event)
            else:
                await self._press(event)
            return
        await super().on_event(event)

    async def _press(self, key: events.Key | events.Paste) -> None:
        screen = self.screen
        if not isinstance(screen, CompatScreen) or not await screen.press(key):
            await super().on_event(key)
        await self.call_what_is_next()

    def hold_keys(self) -> None:
        """Queue the next key presses for a dialog that is being prepared, because the user means them for the dialog.

        `release_keys` must follow.
        """
        self._holds_keys = True

    def release_keys(self) -> None:
        """Pass the key presses that `hold_keys` queued to the topmost screen."""
        held, self._holds_keys = self._holds_keys, False
        if held:
            self.call_later(self._press_waiting)

    async def _press_waiting(self) -> None:
        # A key may open another dialog, which holds keys again: the remaining keys are meant for that dialog.
        while self._waiting_keys and not self._holds_keys:
            await self._press(self._waiting_keys.popleft())

    async def run_binding(self, key: str) -> bool:
        """Run the focused widget's own action for a key, such as deleting a letter in a text field."""
        bound = self.screen.active_bindings.get(key)
        return bound is not None and await self.run_action(bound.binding.action, bound.node)

    # -- themes -------------------------------------------------------------------------------------------------

    @property
    def available_themes(self) -> dict[str, Theme]:
        """Textual's themes and sessionbrowse's own themes, by name."""
        return theme.AVAILABLE

    def get_css_variables(self) -> dict[str, str]:
        """Return the theme's CSS variables, with sessionbrowse's defaults for variables that the theme lacks."""
        variables = super().get_css_variables()
        own = theme.missing_variables(variables)
        self.theme_variables = {**own, **variables}
        return self.theme_variables

    def step_found(self, step: int) -> FoundEntry | None:
        """Go to the next (`step` 1) or previous (-1) session that the search below the topmost screen has found.

        Return the session's best entry; None if no search found a further session.
        """
        return cast(FoundEntry | None, getattr(self.screen_stack[-2], "step_found", lambda step: None)(step))

    def next_theme(self) -> None:
        """Switch to the next of sessionbrowse's themes, and say its name."""
        names = [own.name for own in theme.THEMES]
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]
        self.say(f"Colours: {self.theme.removeprefix('sessionbrowse-').replace('-', ' ')}.")

    # -- messages ----------------------------------------------------------------------------------------------

    def say(self, sentence: str, severity: Severity = "information", *, keep_lines: bool = False) -> None:
        """Show a sentence above the footer for some seconds, as plain text without control characters.

        It replaces an earlier one; an equal one is not shown again. `keep_lines` keeps the line breaks of a program's
        output.
        """
        short = self.in_short(sentence)
        shown = "\n".join([clean(line) for line in short.split("\n")]) if keep_lines else clean(short)
        if self.message.sentence != shown:
            self.message = Said(self.now_ms(), shown, severity)
            self.messages.append(self.message)
            self._show_message()
        self._message_timer.stop()
        self._message_timer = self.set_timer(self.MESSAGE_SECONDS, self.unsay)

    def tell(self, sentence: str) -> None:
        """Show a warning."""
        self.say(sentence, "warning")

    def unsay(self) -> None:
        """Remove the message above the footer."""
        self.message = SILENCE
        self._show_message()

    def _show_message(self) -> None:
        for screen in self.screen_stack:
            for footer in screen.query(KeyBar):
                footer.tell(self.message.sentence, self.message.severity)

    def in_short(self, sentence: str) -> str:
        """Return a sentence in which `~` replaces the home directory in paths."""
        return re.sub(rf"(?<![\w./-]){re.escape(self.home)}(?=/)", "~", sentence) if self.home else sentence


class Browser(TerminalApp, inherit_bindings=False):
    """The app as screens use it; what needs the screens' classes is in the app's own class, in `tui.app`."""

    def __init__(self, options: BrowseOptions, keys: Keys) -> None:
        super().__init__(options)
        self.keys = keys
        self.library = Library(here=options.here)
        self.scan_lane = Lane("scan")
        self.temporary_copies = TemporaryCopies(options.environ.get("TMPDIR"))
        self.exists: dict[str, bool | None] = {}
        self.scans_hidden = False
        self.caller = options.pick.caller if options.pick is not None else None
        """The session that is open in the agent that ran `sessionbrowse pick`; None if no agent ran it."""

    @cached_property
    def source(self) -> Source:
        """An object whose functions read sessions; made on first use, because its modules take long to import."""
        from sessionbrowse.tui.data.sources import source_of

        return source_of(self.options)

    @cached_property
    def search_client(self) -> SearchClient:
        """The client of the background process that searches sessions; all screens share it."""
        from sessionbrowse.tui.data.search_client import SearchClient

        return SearchClient(lambda: self.source)

    @cached_property
    def pattern_worker(self) -> PatternWorker:
        """The client of a process that searches for regular expressions, and that can be killed if it never ends."""
        from sessionbrowse.services.background.pattern_worker import PatternWorker

        return PatternWorker()

    def end_search(self) -> None:
        """End the background process that searches sessions, if it was started."""
        if "search_client" in self.__dict__:
            self.search_client.close()

    @cached_property
    def _session_cache(self) -> SessionCache:
        from sessionbrowse.tui.data.source import SessionCache

        return SessionCache(lambda path, agent: self.source.open_session(path, agent))

    def read_styles(self) -> None:
        """Read the style sheet of all screens except the first."""
        if not self.stylesheet.has_source(str(OTHER_STYLES)):
            self.stylesheet.read(OTHER_STYLES)
            self.stylesheet.parse()

    def publish(self, updates: SessionUpdates) -> None:
        """Update the library (all summaries) and every open screen after sessions changed on disk."""
        if updates.paths:
            self.library.replace(updates.summaries, updates.gone)
            for screen in self._screens():
                screen.sessions_changed(updates)

    @property
    def place(self) -> Hashable:
        """The `place` (the project or session that a screen is about) of the topmost screen that is no dialog."""
        return next((screen.place for screen in reversed(self._screens()) if screen.place is not None), None)

    def _screens(self) -> list[BaseScreen[Any]]:
        return [screen for screen in self.screen_stack if isinstance(screen, BaseScreen)]

    def open_session(self, path: str, agent: str | None) -> Session:
        """Return a session; read the file if it is not in the cache or has changed. For background threads."""
        return self._session_cache.open(path, agent)

    def directories(self) -> list[str]:
        """Return the directories of projects, newest first, except directories known to be gone."""
        rows = self.library.projects()
        here = [row.cwd for row in rows if row.cwd and not machine_in(row.cwd)]
        return [cwd for cwd in here if self.exists.get(cwd) is not False]

    def lend_terminal(self, command: ResumeCommand) -> None:
        """Leave the full screen, run a command such as an agent, and show the browser when the command has ended."""
        failure = lend_terminal(self, command, self.options.environ)
        self._session_cache.forget()
        if failure is not None:
            self.say(failure, "error")

    # -- what needs the screens' classes: see `tui.app` ------------------------------------------------------------

    @property
    @abstractmethod
    def changes(self) -> Changes:
        """The runner that makes changes to sessions in the background."""

    def start_scan(self, *, include_hidden: bool | None = None) -> None:
        """Scan the disk again in the background; `include_hidden` adds archived sessions and those of subagents.

        None means the value of the last scan.
        """

    def scanned(self, sessions: int, skipped: tuple[tuple[str, str], ...]) -> None:
        """Handle the end of a scan; `sessions` is the number found, `skipped` the unreadable paths with reasons."""

    def sessions_found(self) -> None:
        """Dismiss the welcome screen, because sessions were found."""

    def open_demo(self) -> None:
        """Create the demo sessions, and show these instead of the user's sessions."""

    def show_session(
        self, summary: Summary, index: int | None = None, entry_id: str | None = None, searched: str = ""
    ) -> None:
        """Open a session's tree, at an entry if given; in `sessionbrowse pick`, choose the session or entry instead.

        `searched` is the query that found the entry.
        """

    def show_path(self, path: str, entry_id: str | None = None) -> None:
        """Open a listed session by the path of its file, as `show_session` does."""
        if (summary := self.library.get(path)) is not None:
            self.show_session(summary, entry_id=entry_id)

    def open_tree(
        self, summary: Summary, index: int | None = None, entry_id: str | None = None, searched: str = ""
    ) -> None:
        """Open a session's tree, at an entry if given.

        In `sessionbrowse pick` too, where `show_session` returns the session as the choice instead.
        """

    def search_lists(self, text: str, came_from: Summary | None = None) -> None:
        """Search for a text in the list of all sessions; leaving the search opens the session `came_from` again."""

    @property
    @abstractmethod
    def function_of(self) -> FunctionOf:
        """The function that finds the function of a command; see `tui.handlers`."""

    def suspend_program(self) -> None:
        """Return to the shell until its `fg`, as Ctrl+Z does in other programs; wait for the running change first."""

    def leave(self) -> None:
        """End the browser."""
