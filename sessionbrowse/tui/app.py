"""The Textual app: holds the list of all sessions, runs background work, opens the screens, ends the program."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs
from textual.screen import Screen

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.monitor_messages import FirstRows, MonitorEvent, Painted, Rescan
from sessionbrowse.tui.commands.keymap import Keys
from sessionbrowse.tui.data.jobs import Outcome
from sessionbrowse.tui.data.options import BrowseOptions
from sessionbrowse.tui.shell.browser import Browser, FunctionOf
from sessionbrowse.tui.shell.paned_screen import PanedScreen

if TYPE_CHECKING:
    from sessionbrowse.services.background.channel import Channel
    from sessionbrowse.tui.changes.change_runner import ChangeRunner
    from sessionbrowse.tui.commands.command import Command
    from sessionbrowse.tui.data.options import Picking
    from sessionbrowse.tui.data.source import Source

YOUNG_OBJECTS = 20_000
"""Number of new Python objects that starts a garbage collection; most repaints of the screen create fewer."""
TERMINAL_CHECK_S = 2.0
"""Seconds between two checks that the terminal still exists."""
OPENING_S = 0.25
"""Maximum seconds that the first paint waits for the session rows from the index."""


class BrowseApp(Browser, inherit_bindings=False):
    """The Textual app of sessionbrowse: holds the list of all sessions, opens the screens, runs background work."""

    CSS_PATH = "app.tcss"
    TITLE = "sessionbrowse"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - textual's own annotation
        (0, "-narrow"),
        (80, "-normal"),
        (120, "-wide"),
        (170, "-huge"),
    ]

    def __init__(
        self,
        options: BrowseOptions,
        source: Source | None = None,
        monitor: Channel[MonitorEvent] | None = None,
        first_rows: FirstRows | None = None,
    ) -> None:
        custom_commands: tuple[Command, ...] = ()
        if options.settings.commands:
            from sessionbrowse.tui.resume.custom_commands import custom_rows

            custom_commands = custom_rows(options.settings.commands)
        super().__init__(options, Keys(options.settings.keys, custom_commands, options.settings.habits))
        if source is not None:
            self.source = source
        self.monitor = monitor
        self._first_rows = first_rows
        self.demo_directory: Path | None = None
        self._has_picked = False
        self._has_met = False
        self._to_look_at = tuple([machine for machine in options.settings.machines if machine.look == "start"])
        self._skipped: tuple[tuple[str, str], ...] = ()
        self.animation_level = "none"

    @cached_property
    def changes(self) -> ChangeRunner:
        """The runner that makes changes to sessions in the background."""
        from sessionbrowse.tui.changes.change_runner import ChangeRunner

        return ChangeRunner(self)

    def get_default_screen(self) -> Screen[Any]:
        """Return the first screen: the session list, with saved rows, or rows sent by the disk monitor process."""
        from sessionbrowse.tui.lists.screen import BrowseScreen

        if self._first_rows is not None:
            self.library.use_first_rows(self._first_rows)
        elif self.monitor is not None:
            first = self.monitor.receive(OPENING_S if self.options.has_index else 0)
            if isinstance(first, FirstRows):
                self.library.use_first_rows(first)
            elif first is not None:
                self._receive_event(first)
        return BrowseScreen(self.library)

    def on_mount(self) -> None:
        """Scan the disk for sessions, unless a background process does so; schedule the work after the first paint."""
        if self.monitor is None and self._first_rows is None:
            self.start_scan()
        if self.options.pick is not None:
            self.hold_keys()
        self.screen.call_after_refresh(self._painted)
        if not self.is_headless:
            self.set_interval(TERMINAL_CHECK_S, self.leave_if_terminal_is_gone)

    def _painted(self) -> None:
        """Start the work that was put off until the first paint: styles, disk monitor, imports."""
        if not self.is_headless:
            # Until the first paint a signal kills the process: Textual cannot exit while it creates its first widgets.
            self.leave_on_signals()
        gc.enable()
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS)
        self.read_styles()
        from sessionbrowse.tui.setting_problems import show_problems

        show_problems(self.options, self.keys, self.tell)
        if self._first_rows is not None:
            self._start_monitor()
        elif self.monitor is not None:
            self._listen_to_monitor(self.monitor)
        if self.options.pick is not None:
            self._open_picking(self.options.pick)
        threading.Thread(target=self._prepare, name="sessionbrowse-imports", daemon=True).start()

    def _prepare(self) -> None:
        """Import modules that key presses will need, then recover changes that a crash interrupted."""
        for name in ("changes.change_runner", "data.sources", "reading.documents", "session.screen"):
            import_module(f"sessionbrowse.tui.{name}")
        if self.options.pick is not None:
            return  # Recovery could change a session file that the caller of `sessionbrowse pick` has open.
        from sessionbrowse.tui.changes.change_runner import recover_at_start

        recover_at_start(self)

    def _receive_event(self, event: MonitorEvent) -> None:
        """Pass an event of the disk monitor to the screens. Called in the thread that listens to the monitor."""
        self.scan_lane.deliver(Outcome(self.scan_lane.name, self.scan_lane.stamp, event, last=False))

    def leave_with_signal(self, number: int) -> None:
        try:
            if not self.is_ending:
                self._keep_view()
        finally:
            # The browser must end even if saving the state of the screens fails.
            self.exit(return_code=128 + number)

    def start_scan(self, *, include_hidden: bool | None = None) -> None:
        """Scan the disk again in the background; `include_hidden` adds archived sessions and those of subagents."""
        self.scans_hidden = self.scans_hidden if include_hidden is None else include_hidden
        if self.monitor is not None and self.monitor.is_over:
            self._restart_monitor()
        if self.monitor is not None:
            self.monitor.send(Rescan(self.scans_hidden))
            return
        from sessionbrowse.tui.data.sources import scan_into

        known = [summary.path for summary in self.library.all()]
        scan_into(self.scan_lane, self.source, known, include_hidden=self.scans_hidden)

    def _restart_monitor(self) -> None:
        """Restart the process that monitors the disk; if there was none, scan the disk in a thread instead."""
        if self.monitor is not None:
            self.monitor.kill()
            self._start_monitor()
        else:
            self.start_scan()

    def _start_monitor(self) -> None:
        from sessionbrowse.services.background.programs import start_monitor

        self.monitor = start_monitor(self.options.request())
        if self.monitor is not None:
            self._listen_to_monitor(self.monitor)
        else:
            self.start_scan()

    def _listen_to_monitor(self, monitor: Channel[MonitorEvent]) -> None:
        from sessionbrowse.services.background.programs import listen_to_monitor

        monitor.send(Painted())
        listen_to_monitor(monitor, self._receive_event)

    def show_session(
        self, summary: Summary, index: int | None = None, entry_id: str | None = None, searched: str = ""
    ) -> None:
        """Open a session's tree at an entry; in `sessionbrowse pick`, end with the session or entry as the result."""
        picking = self.options.pick
        if picking is None or (picking.needs_entry and entry_id is None):
            self.open_tree(summary, index, entry_id, searched)
        elif summary.machine is not None and picking.caller is not None:
            # The agent that started `pick` would write into the mirror's copy of the session.
            self.say(f"The session lies on {summary.machine}; open it there, or fork it here first.", "warning")
        elif not self._has_picked:  # Of two fast key presses, only the first sets the result of `pick`.
            self._has_picked = True
            picking.choose(summary, entry_id)
            self.exit(0)

    def open_tree(
        self, summary: Summary, index: int | None = None, entry_id: str | None = None, searched: str = ""
    ) -> None:
        """Open a session's tree at an entry, or else at the leaf; the agent that has it open may know a newer leaf."""
        from sessionbrowse.tui.session.screen import SessionScreen

        caller = self.caller
        if caller is not None and index is None and entry_id is None and caller.has_open(summary.path):
            entry_id = caller.leaf
        self.push_screen(SessionScreen(summary, index, entry_id, searched))

    def _open_picking(self, picking: Picking) -> None:
        if picking.session is not None:
            self.open_tree(picking.session)
        elif picking.query or picking.needs_entry:
            self.search_lists(picking.query)
        self.release_keys()

    def search_lists(self, text: str, came_from: Summary | None = None) -> None:
        """Search for a text in the list of all sessions; leaving the search opens the session `came_from` again."""
        from sessionbrowse.tui.lists.list_commands import search_for
        from sessionbrowse.tui.lists.screen import BrowseScreen

        while not isinstance(self.screen, BrowseScreen) and len(self.screen_stack) > 1:
            self.pop_screen()
        if isinstance(self.screen, BrowseScreen):
            self.screen.left_session = came_from
            if came_from is not None:
                self.screen.projects_list.go_to_key(("project", None))
            search_for(self.screen, text)

    @cached_property
    def function_of(self) -> FunctionOf:
        """The function that finds the function of a command, for the name of a screen."""
        from sessionbrowse.tui.handlers import function_of

        return function_of

    def open_demo(self) -> None:
        """Create sample sessions in a temporary directory, and browse these instead of the user's sessions."""
        import tempfile

        from sessionbrowse.demo import make_demo
        from sessionbrowse.tui.data.sources import source_of
        from sessionbrowse.tui.lists.screen import BrowseScreen

        target = Path(tempfile.mkdtemp(prefix="sessionbrowse-demo-"))
        self.demo_directory = target
        make_demo(target)
        self.options = structs.replace(self.options, roots=[str(target)], demo=str(target))
        self.__dict__.pop("changes", None)  # The next change is made with the demo's journal.
        self.memory.forget()
        self.home = str(target / "home" / "dev")
        self.source = source_of(self.options)
        self.end_search()
        for screen in self.screen_stack:
            if isinstance(screen, BrowseScreen):
                # Else an empty list would say that there are no sessions.
                screen.updates.begin()
                screen.refresh_rows()
        self.pop_screen()
        self._restart_monitor()
        self.say("Demo: these are sample sessions, removed when you leave.")

    def remove_demo(self) -> None:
        """Remove the sample sessions of the demo, if they were created."""
        if self.demo_directory is not None:
            import shutil

            shutil.rmtree(self.demo_directory, ignore_errors=True)
            self.demo_directory = None

    def scanned(self, sessions: int, skipped: Sequence[tuple[str, str]]) -> None:
        """Handle the end of a disk scan: report unreadable paths; show the welcome screen if there are no sessions."""
        before, self._skipped = self._skipped, tuple(skipped)
        if skipped and self._skipped != before:
            (path, reason), others = skipped[0], f", and {len(skipped) - 1:,} more" if len(skipped) > 1 else ""
            self.say(f"Not read: {path} ({reason}){others}.", "warning")
        wanted, self._to_look_at = self._to_look_at, ()
        if wanted and not self.options.roots:
            from sessionbrowse.tui.lists.look import begin_looks
            from sessionbrowse.tui.lists.screen import BrowseScreen

            begin_looks(next(each for each in self.screen_stack if isinstance(each, BrowseScreen)), wanted)
        if sessions:
            self.sessions_found()
        elif not self._has_met and not self.options.roots and self.screen.name != "welcome":
            from sessionbrowse.tui.dialogs.welcome import WelcomeScreen

            self.push_screen(WelcomeScreen())

    def sessions_found(self) -> None:
        """Dismiss the welcome screen, because sessions were found."""
        self._has_met = True
        if self.screen.name == "welcome":
            self.pop_screen()

    def _keep_view(self) -> None:
        """Save the state of screens and the first rows of the session list for the next start; ignore write errors."""
        from sessionbrowse.services.background.first_rows import first_order, save_first_rows
        from sessionbrowse.tui.lists.screen import BrowseScreen

        for screen in self.screen_stack:
            if isinstance(screen, PanedScreen):
                screen.keep_view()
        with suppress(OSError, UnicodeEncodeError):
            for screen in self.screen_stack:
                if isinstance(screen, BrowseScreen):
                    self.memory.save(screen.view, self.theme)
        request = self.options.request()
        if self.options.demo is None and (rows := self.library.first_rows_to_save(first_order(request))) is not None:
            save_first_rows(request, rows)

    def _waits_for_changes(self, then: Callable[[], None], sentence: str) -> bool:
        """Return True, and call `then` once no change is running; False if none is, or at the second call."""
        # Until its first use, the change runner `self.changes` is not in `__dict__`, and no change is running.
        if "changes" not in self.__dict__:
            return False
        waits = self.changes.busy and self.changes.when_idle != then
        self.changes.when_idle = then if waits else None
        if waits:
            self.say(sentence)
        return waits

    def suspend_program(self) -> None:
        """Return to the shell, but only after the running change, because an agent may be waiting for its locks."""
        told = "Suspending after the running work; press the key again to suspend at once."
        if not self._waits_for_changes(self.suspend_program, told):
            self.stop_for_shell()

    def leave(self) -> None:
        """End the program after the running change; cancel background work that only reads files.

        In `sessionbrowse pick`, leaving without a chosen session gives exit status 1.
        """
        if self._waits_for_changes(
            self.leave, "Leaving after the running change; press the key again to leave at once."
        ):
            return
        self.scan_lane.cancel()
        self.end_search()
        self._keep_view()
        if not self._has_picked:
            self.exit(0, return_code=0 if self.options.pick is None else 1)
