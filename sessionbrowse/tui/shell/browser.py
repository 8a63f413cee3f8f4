"""The protocols of the app; screens and commands import these protocols instead of the app's class."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from textual.screen import Screen
    from textual.timer import Timer

    from sessionbrowse.agents import Surroundings
    from sessionbrowse.model.listing.summary import Summary
    from sessionbrowse.model.session.session import Session
    from sessionbrowse.services.background.pattern_worker import PatternWorker
    from sessionbrowse.services.change.delete import Into
    from sessionbrowse.services.resume.plan import ResumeCommand
    from sessionbrowse.services.transaction.change_context import ChangeContext
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
Severity = Literal["information", "warning", "error"]


class Said(Struct, frozen=True):
    """A message for the user: when it was shown, in milliseconds since 1970, its text and how serious it is."""

    time_ms: float
    sentence: str
    severity: Severity


SILENCE = Said(0, "", "information")
"""No message."""


class FoundEntry(Struct, frozen=True):
    """A found entry of a session, or the session itself (`index` is None)."""

    summary: Summary
    index: int | None
    entry_id: str | None


class Changes(Protocol):
    """Protocol of the object that makes changes in the background, one at a time; see `changes.change_runner`."""

    @property
    def into(self) -> Into:
        """The trash for deleted sessions: the system's, or in the demo a directory that is removed with the demo."""

    @property
    def around(self) -> Surroundings:
        """The home directory, environment variables and current directory that changes use."""

    @property
    def context(self) -> ChangeContext:
        """The change context (home, clock, journal). Only the thread that makes changes may use its journal."""

    @property
    def busy(self) -> bool:
        """True while a change or other queued work is running."""

    def run(
        self,
        work: Callable[[ChangeRun], T],
        on_result: Callable[[T], None],
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        """Run `work` in the background; pass its result to `on_result`, its error to `on_error` or else to a toast."""

    def carry_out(self, plan: ChangePlan) -> None:
        """Make the changes of a plan in the background, show their progress, update the screens and show a toast."""

    def place_of(self, undo_id: str) -> Hashable:
        """Return the place where the user made a change: screen, and project or session; None if it is not known."""

    def target(self, summary: Summary) -> Target:
        """Return the target of a change to a session: the file, the agent, the directory of the agent's sessions."""


class Browser(Protocol):
    """The protocol of the app: everything that screens may use."""

    options: BrowseOptions
    keys: Keys
    library: Library
    memory: ViewMemory
    home: str
    temporary_copies: TemporaryCopies
    scan_lane: Lane
    event_lane: Lane
    exists: dict[str, bool | None]
    scans_hidden: bool

    @property
    def source(self) -> Source:
        """The functions with which the browser reads sessions, directories, and the list of pinned sessions."""

    @property
    def changes(self) -> Changes:
        """The runner that makes changes to sessions in the background."""

    @property
    def search_client(self) -> SearchClient:
        """The client of the background search process, shared by all screens."""

    @property
    def pattern_worker(self) -> PatternWorker:
        """The worker process that searches texts for regular expressions that the user types."""

    # -- time, sentences, clipboard, keys -----------------------------------------------------------------------

    def now_ms(self) -> float:
        """Return the time in milliseconds since 1970."""

    message: Said
    """The message above the footer."""

    @property
    def messages(self) -> Sequence[Said]:
        """The last messages, oldest first, to be read again."""

    def say(self, sentence: str, severity: Severity = "information", *, keep_lines: bool = False) -> None:
        """Show a sentence above the footer; control characters and markup in the sentence have no effect.

        `keep_lines` keeps the line breaks of a program's output.
        """

    def in_short(self, sentence: str) -> str:
        """Return a sentence in which `~` replaces the home directory in paths."""

    def copy(self, content: str, what: str) -> None:
        """Copy text to the clipboard through the terminal, and say which thing (`what`) was copied."""

    def copy_to_clipboard(self, text: str) -> None:
        """Copy text to the clipboard through the terminal."""

    def scope_note(self) -> Line:
        """Return the note in the top bar: agents and roots given, and the key that chooses in `sessionbrowse pick`."""

    def hold_keys(self) -> None:
        """Queue the next key presses for a dialog that is being prepared, until `release_keys` is called."""

    def release_keys(self) -> None:
        """Pass the key presses that `hold_keys` queued to the topmost screen."""

    async def run_binding(self, key: str) -> bool:
        """Run the focused widget's own binding for a key, such as moving the cursor in a text field."""

    # -- sessions -----------------------------------------------------------------------------------------------

    def open_session(self, path: str, agent: str | None) -> Session:
        """Return a session, from the cache if its file is unchanged, else from the file; for background threads."""

    def directories(self) -> list[str]:
        """Return the directories of all projects, most recently used first."""

    def start_scan(self, *, include_hidden: bool | None = None) -> None:
        """Scan the disk again in the background; `include_hidden` adds archived sessions and those of subagents.

        None stands for the value of the last scan.
        """

    def scanned(self, sessions: int, skipped: tuple[tuple[str, str], ...]) -> None:
        """Handle the end of a scan; `sessions` is the number found, `skipped` the unreadable paths with reasons."""

    def sessions_found(self) -> None:
        """Dismiss the welcome screen, because sessions were found."""

    def publish(self, updates: SessionUpdates) -> None:
        """Update the library (all summaries) and every open screen for sessions that changed on disk."""

    def open_demo(self) -> None:
        """Create the demo sessions, and show these instead of the user's sessions."""

    # -- screens ------------------------------------------------------------------------------------------------

    @property
    def screen(self) -> Screen[Any]:
        """The topmost screen."""

    @property
    def place(self) -> Hashable:
        """The project or session that the topmost screen is about, dialogs left out: its `CommandScreen.place`."""

    def call_later(self, callback: Callable[..., Any], *args: Any) -> bool:
        """Schedule `callback` in the app's own thread; any thread may call this method."""

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` after `delay` seconds."""

    def push_screen(self, screen: Screen[T], callback: Callable[[T | None], None] | None = None) -> Any:
        """Show a screen on top; `callback` is called with the screen's result."""

    def show_session(
        self, summary: Summary, index: int | None = None, entry_id: str | None = None, searched: str = ""
    ) -> None:
        """Open a session's tree, at an entry if given; in `sessionbrowse pick`, choose the session or entry instead.

        `searched` is the query that found the entry.
        """

    def open_tree(
        self, summary: Summary, index: int | None = None, entry_id: str | None = None, searched: str = ""
    ) -> None:
        """Open a session's tree, at an entry if given; also in `sessionbrowse pick`, unlike `show_session`."""

    def search_lists(self, text: str, came_from: Summary | None = None) -> None:
        """Search for a text in the list of all sessions; leaving the search opens the session `came_from` again."""

    def step_found(self, step: int) -> FoundEntry | None:
        """Go to the next (`step` 1) or previous (-1) session that the search below the topmost screen has found.

        Return the session's best entry; None if no search found a further session.
        """

    def find_handler(self, screen: str, command_id: str) -> Callable[[Any], None] | None:
        """Return the function that runs a command on a screen; None if the screen has no function for it."""

    def read_styles(self) -> None:
        """Load the style sheet of all screens except the browser's first screen, unless it is loaded already."""

    def lend_terminal(self, command: ResumeCommand) -> None:
        """Hide the browser, run a program such as an agent in this terminal, then show the browser again."""

    def next_theme(self) -> None:
        """Switch to the next colour theme."""

    def paint_again(self) -> None:
        """Draw the whole screen again, because the terminal may show output of another program."""

    def suspend_program(self) -> None:
        """Return to the shell until its `fg`, as Ctrl+Z does in other programs; wait for the running change first."""

    def leave(self) -> None:
        """End the browser."""
