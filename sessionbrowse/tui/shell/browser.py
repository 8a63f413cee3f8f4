"""The protocols of the app: screens and commands depend on them, not on the app's class."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel
    from textual.screen import Screen
    from textual.timer import Timer

    from sessionbrowse.agents import Surroundings
    from sessionbrowse.model.listing.summary import Summary
    from sessionbrowse.model.session.session import Session
    from sessionbrowse.services.background.pattern_worker import PatternWorker
    from sessionbrowse.services.change.delete import Into
    from sessionbrowse.services.resume.plan import ResumeCommand
    from sessionbrowse.store.write.admission import Target
    from sessionbrowse.tui.commands.keymap import Keys
    from sessionbrowse.tui.data.jobs import Lane
    from sessionbrowse.tui.data.library import Library
    from sessionbrowse.tui.data.options import BrowseOptions
    from sessionbrowse.tui.data.search_client import SearchClient
    from sessionbrowse.tui.data.source import SessionUpdates, Source
    from sessionbrowse.tui.outside.temporary_copies import TemporaryCopies
    from sessionbrowse.tui.paint.spans import Line
    from sessionbrowse.tui.shell.change_plan import ChangePlan, ChangeRun
    from sessionbrowse.tui.shell.view_memory import ViewMemory

T = TypeVar("T")


class Changes(Protocol):
    """Runs work and changes in the background, one after another; `changes.change_runner` is the implementation."""

    @property
    def into(self) -> Into:
        """The trash for deleted sessions."""

    @property
    def around(self) -> Surroundings:
        """The home directory, environment and current directory with which changes are made."""

    def run(
        self,
        work: Callable[[ChangeRun], T],
        on_result: Callable[[T], None],
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        """Run `work` in the background; pass its result to `on_result`, an error to `on_error` or to a toast."""

    def carry_out(self, plan: ChangePlan) -> None:
        """Make the changes of a plan, show progress, update the screens and show a toast."""

    def target(self, summary: Summary) -> Target:
        """Return the target of a change for a listed session: its file, its agent and its directory of sessions."""


class Browser(Protocol):
    """The protocol of the app that screens may use."""

    options: BrowseOptions
    keys: Keys
    library: Library
    memory: ViewMemory
    home: str
    temporary_copies: TemporaryCopies
    scan_lane: Lane
    event_lane: Lane
    exists: dict[str, bool | None]

    @property
    def source(self) -> Source:
        """The functions that read sessions."""

    @property
    def changes(self) -> Changes:
        """The runner that makes changes to sessions in the background."""

    @property
    def search_client(self) -> SearchClient:
        """The client of the search program, shared by all screens."""

    @property
    def pattern_worker(self) -> PatternWorker:
        """The process that searches for the patterns typed in the interface."""

    # -- time, sentences, clipboard, keys -----------------------------------------------------------------------

    def now_ms(self) -> float:
        """Return the time in milliseconds since 1970."""

    def say(self, sentence: str, severity: SeverityLevel = "information", *, keep_lines: bool = False) -> None:
        """Show a sentence as a toast; control characters and markup in it have no effect.

        `keep_lines` keeps the line breaks of a program's output.
        """

    def unsay(self) -> None:
        """Remove all toasts except warnings and errors."""

    def in_short(self, sentence: str) -> str:
        """Return a sentence with the home directory in its paths shortened to `~`."""

    def copy(self, content: str, what: str) -> None:
        """Copy text to the clipboard through the terminal and say what was copied."""

    def copy_to_clipboard(self, text: str) -> None:
        """Copy text to the clipboard through the terminal."""

    def scope_note(self) -> Line:
        """Return the roots and agents of the command line, for the bar at the top."""

    def hold_keys(self) -> None:
        """Hold the next key presses back for a dialog that is being prepared; `release_keys` must follow."""

    def release_keys(self) -> None:
        """Give the key presses that were held back to the screen on top."""

    async def run_binding(self, key: str) -> bool:
        """Run the focused widget's own binding for a key, such as moving the cursor in a text field."""

    # -- sessions -----------------------------------------------------------------------------------------------

    def open_session(self, path: str, agent: str | None) -> Session:
        """Read a session, unless the cache holds it and its file is unchanged. For background threads."""

    def directories(self) -> list[str]:
        """Return the directories of all projects, newest first."""

    def start_scan(self, *, include_hidden: bool = False) -> None:
        """Scan the disk again in the background."""

    def scanned(self, sessions: int, skipped: tuple[tuple[str, str], ...]) -> None:
        """Handle the end of a scan, which found `sessions` sessions and `skipped` unreadable paths (path, reason)."""

    def sessions_found(self) -> None:
        """Dismiss the welcome screen, because sessions were found."""

    def publish(self, updates: SessionUpdates) -> None:
        """Update the library and every open screen for sessions that changed on disk."""

    def open_demo(self) -> None:
        """Make the demo store, and browse it instead of the user's sessions."""

    # -- screens ------------------------------------------------------------------------------------------------

    @property
    def screen(self) -> Screen[Any]:
        """The screen that is on top of all others."""

    def call_later(self, callback: Callable[..., Any], *args: Any) -> bool:
        """Call `callback` later in the app's own thread; may be called from any thread."""

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` after `delay` seconds."""

    def push_screen(self, screen: Screen[T], callback: Callable[[T | None], None] | None = None) -> Any:
        """Show a screen; its result goes to `callback`."""

    def show_session(
        self, summary: Summary, index: int | None = None, entry_id: str | None = None, searched: str = ""
    ) -> None:
        """Open a session's tree at an entry; `searched` is the query that found the entry."""

    def open_tree(
        self, summary: Summary, index: int | None = None, entry_id: str | None = None, searched: str = ""
    ) -> None:
        """Open a session's tree at an entry, also where `show_session` would end with the session as the result."""

    def show_search(self, text: str = "") -> None:
        """Show the screen of the search over all sessions."""

    def show_checkpoints(self) -> None:
        """Show the labels of all sessions."""

    def find_handler(self, screen: str, command_id: str) -> Callable[[Any], None] | None:
        """Return the function that runs a command on a screen; None if the screen has none for it."""

    def read_styles(self) -> None:
        """Read the style sheet of all screens except the first."""

    def lend_terminal(self, command: ResumeCommand) -> None:
        """Leave the full screen, run an agent, and show the browser again when the agent has ended."""

    def next_theme(self) -> None:
        """Switch to the next colour theme."""

    def paint_again(self) -> None:
        """Send the whole screen to the terminal, whatever it shows."""

    def leave(self) -> None:
        """End the program."""
