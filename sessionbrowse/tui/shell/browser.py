"""What screens and commands may ask of the app: they know these protocols, never the app itself."""

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
        """Where deleted sessions go."""

    @property
    def around(self) -> Surroundings:
        """Home, environment and current directory of the changes."""

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
        """Return the parts of a listed session that a change may touch."""


class Browser(Protocol):
    """The app as its screens see it."""

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
        """The runner of changes."""

    @property
    def search_client(self) -> SearchClient:
        """The search program, shared by all screens."""

    @property
    def pattern_worker(self) -> PatternWorker:
        """The process that searches for the patterns typed in the interface."""

    # -- time, sentences, clipboard, keys -----------------------------------------------------------------------

    def now_ms(self) -> float:
        """Return the time in milliseconds since 1970."""

    def say(self, sentence: str, severity: SeverityLevel = "information") -> None:
        """Show a toast; the sentence may hold text of sessions."""

    def unsay(self) -> None:
        """Remove the toasts that are no warning."""

    def in_short(self, sentence: str) -> str:
        """Return a sentence with `~` for the home directory."""

    def copy(self, content: str, what: str) -> None:
        """Copy text to the clipboard through the terminal and say what was copied."""

    def copy_to_clipboard(self, text: str) -> None:
        """Copy text to the clipboard through the terminal."""

    def scope_note(self) -> Line:
        """Return the roots and agents of the command line, for the bar at the top."""

    def hold_keys(self) -> None:
        """Keep the keys for a dialog that is being prepared; `release_keys` must follow."""

    def release_keys(self) -> None:
        """Hand the kept keys to the screen that is on top now."""

    async def run_binding(self, key: str) -> bool:
        """Run the binding that the focused widget itself has for a key."""

    # -- sessions -----------------------------------------------------------------------------------------------

    def open_session(self, path: str, agent: str | None) -> Session:
        """Read a session, unless the cache holds it and its file is unchanged. For background threads."""

    def directories(self) -> list[str]:
        """Return the directories of all projects, newest first."""

    def start_scan(self, *, include_hidden: bool = False) -> None:
        """Scan the disk again in the background."""

    def scanned(self, sessions: int, skipped: tuple[tuple[str, str], ...]) -> None:
        """Take the end of a scan: the number of sessions, and the paths that were not read, with reasons."""

    def sessions_found(self) -> None:
        """Dismiss the welcome screen: there are sessions."""

    def publish(self, updates: SessionUpdates) -> None:
        """Update the library and every open screen."""

    def open_demo(self) -> None:
        """Make the demo store and browse it instead."""

    # -- screens ------------------------------------------------------------------------------------------------

    @property
    def screen(self) -> Screen[Any]:
        """The screen on top."""

    def call_later(self, callback: Callable[..., Any], *args: Any) -> bool:
        """Call back in the app's own thread; from any thread."""

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call back after so many seconds."""

    def push_screen(self, screen: Screen[T], callback: Callable[[T | None], None] | None = None) -> Any:
        """Show a screen; its result goes to `callback`."""

    def show_session(
        self, summary: Summary, index: int | None = None, entry_id: str | None = None, searched: str = ""
    ) -> None:
        """Open a session at an entry, with the words that it was found by."""

    def show_search(self, text: str = "") -> None:
        """Show the search."""

    def show_checkpoints(self) -> None:
        """Show the labels of all sessions."""

    def find_handler(self, screen: str, command_id: str) -> Callable[[Any], None] | None:
        """Return the function that carries out a command on a screen; None if it has none."""

    def read_styles(self) -> None:
        """Read the styles of the screens after the first."""

    def lend_terminal(self, command: ResumeCommand) -> None:
        """Leave the full screen, run a program, and come back."""

    def next_theme(self) -> None:
        """Show the next theme."""

    def leave(self) -> None:
        """End the program."""
