"""The only module that uses private names of Textual and Rich; all other modules use only public names.

`tests/tui/paint/test_textual_compat.py` lists each private name, and describes how to replace it if an upgrade removes
it. `pyproject.toml` allows only versions of Textual in which all these names exist.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, cast

from rich.color import ColorSystem
from rich.console import Console
from rich.text import Text
from textual import events, on
from textual._compositor import ChopsUpdate, Compositor
from textual._compositor import LayoutUpdate as LayoutUpdate
from textual.app import App
from textual.css.errors import StylesheetError
from textual.geometry import Size
from textual.message_pump import MessagePump
from textual.notifications import Notification
from textual.reactive import Reactive
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.timer import Timer, TimerCallback

from sessionbrowse.errors import shortage_sentence
from sessionbrowse.tui.paint.signals import ENDING
from sessionbrowse.tui.paint.terminal_cells import TerminalCells

if TYPE_CHECKING:
    from textual.driver import Driver

Result = TypeVar("Result")

FRAME_SECONDS = 1 / 120
"""Seconds between two repaints of the screen: half of Textual's 1/60 s, so that changes become visible sooner."""

RESERVE_BYTES = 16 * 1024 * 1024
FULL_SCREEN = "\x1b[?1049h\x1b[?25l\x1b[?1004h\x1b[?1000h\x1b[?1003h\x1b[?1015h\x1b[?1006h\x1b[?2004h\x1b[?7l"
"""Escape sequences that switch the terminal to the full screen.

They set the modes: alternate screen, no cursor, focus and mouse reports, bracketed paste, no line wrap.
"""

NORMAL_SCREEN = (
    b"\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1016l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l"
    b"\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"
)
"""Escape sequences that reset all terminal modes that the browser or Textual set."""


# -- frames -----------------------------------------------------------------------------------------------------------


class CompatCompositor(Compositor):
    """A Textual compositor that also gives access to the changed cells of the screen and to the terminal's cells."""

    @property
    def terminal_cells(self) -> TerminalCells:
        """The cells that the terminal shows, shared by all screens of the app."""
        return cast(CompatApp, cast(Screen[Any], self.root).app).terminal_cells

    def take_changed_cells(self) -> Iterable[tuple[int, int, int]]:
        """Return the changed cells as (y, first x, x after the last), and clear Textual's list of changes."""
        changed = list(self._regions_to_spans(self._dirty_regions))
        self._dirty_regions.clear()
        return changed


class PartialUpdate(ChopsUpdate):
    """Base class for a repaint of some cells; a subclass returns the text for the terminal in `render_segments`."""

    def __init__(self) -> None:
        super().__init__([], [], [])


def color_system(console: Console) -> ColorSystem:
    """Return the color system (such as 256 colours or true colour) that a Rich console supports."""
    return console._color_system or ColorSystem.TRUECOLOR


class LateTimers(MessagePump):
    """Replaces Textual's one-shot timers by timers that call their function even if they are late.

    Textual's timers skip calls whose time has passed, so a one-shot timer on a busy system may never call its function.
    """

    def set_timer(
        self, delay: float, callback: TimerCallback | None = None, *, name: str | None = None, pause: bool = False
    ) -> Timer:
        """Call a function once after a delay in seconds."""
        # The timer is created paused, so that Textual's flag to skip late calls is cleared before the timer starts.
        # From Python 3.12 on, an unpaused timer starts before `set_timer` returns.
        timer = super().set_timer(delay, callback, name=name, pause=True)
        timer._skip = False
        if not pause:
            timer.resume()
        return timer


class CompatScreen(LateTimers, Screen[Result], inherit_bindings=False):
    """A Textual screen that repaints changes 120 times a second or on demand, with a hook before its first frame."""

    def __init__(self, compositor: Compositor, *, name: str | None = None) -> None:
        super().__init__(name=name)
        self._compositor = compositor
        self._mount_ended = asyncio.Event()

    def before_first_frame(self, app: App[Any]) -> None:
        """Set CSS classes and styles that the first painting needs; Textual sends its first event only afterwards.

        This method does nothing; subclasses override it.
        """

    def paint_now(self) -> None:
        """Paint all changes now, without waiting for the next frame."""
        self._on_timer_update()

    async def wait_until_mounted(self, seconds: float) -> None:
        """Wait until the screen is laid out, but at most for some seconds."""
        if not self.is_mounted:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._mount_ended.wait(), seconds)

    @on(events.Mount)
    def _end_mount(self) -> None:
        self._mount_ended.set()

    @cached_property
    def _update_timer(self) -> Timer:
        return self.set_interval(FRAME_SECONDS, self._on_timer_update, name="screen_update", pause=True)

    def _post_register(self, app: App[Any]) -> None:
        super()._post_register(app)
        self.before_first_frame(app)


# -- scrolling and toasts ---------------------------------------------------------------------------------------------


class CompatScrollView(ScrollView):
    """A scrollable widget whose content can grow without a new layout of the screen; `BAR` is the scroll bar class."""

    BAR: type[ScrollBar] = ScrollBar

    # Textual declares `virtual_size` with `layout=True`, and so lays out the whole screen when the height changes.
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False, repaint=False)

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scroll bar at the right, created on first access."""
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = self.BAR(name="vertical", thickness=self.scrollbar_size_vertical)
            self._vertical_scrollbar.display = False
            self.app._start_widget(self, self._vertical_scrollbar)
        return self._vertical_scrollbar

    def set_height(self, rows: int) -> None:
        """Set the number of rows of the scrollable content."""
        if self.virtual_size.height != rows:
            self.virtual_size = Size(0, rows)
            self._scroll_update(self.virtual_size)


class CompatApp(LateTimers, App[int], inherit_bindings=False):
    """A Textual app that repaints only changed cells, keeps its focus, and ends cleanly when memory runs out."""

    def __init__(self, driver_class: type[Driver] | None = None) -> None:
        super().__init__(driver_class=driver_class)
        self.terminal_cells = TerminalCells()
        self.is_short = False
        """True once the system refused memory, threads or files; the app then ends."""
        self._reserve = bytearray(RESERVE_BYTES)
        """Reserved memory; it is released if the system refuses memory, so that the app can still end cleanly."""

    def on_resize(self) -> None:
        """Send all cells again after a change of the terminal's size, because terminals then move or cut their text."""
        self.terminal_cells.forget()

    def paint_again(self) -> None:
        """Send the whole screen to the terminal again, because another program may have drawn on it."""
        self.terminal_cells.forget()
        self.refresh(layout=True)

    def _handle_exception(self, error: Exception) -> None:
        """End the app with a traceback, or with a sentence if the system refused memory, threads or files.

        Ignore the error if the app is ending already: errors in screens that are not complete are expected then.
        """
        if self._exit or self.is_short:
            return
        # If a style sheet cannot be read, Textual raises its own error, with the system's error as `__context__`.
        hidden = error.__context__ if isinstance(error, StylesheetError) else None
        sentence = shortage_sentence(hidden or error)
        self.is_short = sentence is not None
        if sentence is not None:
            self._reserve = bytearray()
            if not isinstance(error, OSError) and getattr(self._driver, "is_terminal", False):
                ENDING.end_with(sentence)
        super()._handle_exception(error if sentence is None else _Shortage(sentence))

    def _watch_app_focus(self, focus: bool) -> None:
        """Do nothing, to replace Textual's method that removes the focus from a pane when the terminal loses its focus.

        Keys would do nothing then, and a terminal does not always report that it has the focus again, for example after
        another program used it.
        """

    def remove_notifications(self, is_meant: Callable[[Notification], bool]) -> None:
        """Remove notifications for which `is_meant` returns True; their toasts stay until the next toast is shown."""
        for notification in list(self._notifications):
            if is_meant(notification):
                self._unnotify(notification, refresh=False)


class _Shortage(Exception):
    """The error that ends the app if the system refuses memory; Textual prints it as a sentence without a traceback."""

    def __rich__(self) -> Text:
        return Text(f"sessionbrowse: {self}")


# -- the terminal -----------------------------------------------------------------------------------------------------


def terminal_driver() -> type[Driver] | None:
    """Return our Textual driver, a class that draws on the terminal and reads keys; None on Windows: use Textual's own.

    Textual's own driver has two faults. It draws on standard error but uses the size of standard output, which is
    80 × 24 for a pipe, as in `$(sessionbrowse pick)`. After SIGSTOP, which a program cannot catch, it starts a second
    thread that reads keys: both threads compete for the keys, and quitting hangs.
    """
    if sys.platform == "win32":
        return None
    import termios

    from textual.drivers.linux_driver import LinuxDriver

    class TerminalDriver(LinuxDriver):
        """A Textual driver that uses the size of the terminal it draws on, and survives SIGSTOP at any moment."""

        is_terminal = True

        def __init__(self, app: CompatApp, **options: Any) -> None:
            super().__init__(app, **options)
            self._browser = app
            self._is_taken = False
            self._modes_before: list[Any] | None = None
            self._event_loop: asyncio.AbstractEventLoop | None = None
            ENDING.before_end(self._give_back)
            if self._file is not None:
                self._file = cast(Any, TerminalFile(self._file))

        def _get_terminal_size(self) -> tuple[int, int]:
            if os.isatty(1):
                return super()._get_terminal_size()
            try:
                size = os.get_terminal_size(2)
            except OSError:
                return super()._get_terminal_size()
            return size.columns, size.lines

        def start_application_mode(self) -> None:
            """Switch the terminal to the full screen, and save its modes, to restore them later."""
            self._event_loop = asyncio.get_running_loop()
            self._watch_shortages(self._event_loop)
            if not self._is_taken:
                self._is_taken = True
                with suppress(termios.error):
                    self._modes_before = termios.tcgetattr(self.fileno)
            self._browser.terminal_cells.forget()
            try:
                super().start_application_mode()  # type: ignore[no-untyped-call]
            except Exception:
                # Textual would not restore the terminal if it cannot start the thread that reads keys.
                self.close()
                if self._modes_before is not None:
                    termios.tcsetattr(self.fileno, termios.TCSANOW, self._modes_before)
                os.write(2, NORMAL_SCREEN)
                raise
            self._modes = None
            with suppress(termios.error):
                self._modes = termios.tcgetattr(self.fileno)

        def _watch_shortages(self, loop: asyncio.AbstractEventLoop) -> None:
            """End the browser if the system refuses memory to a thread or an asyncio callback; else it would hang."""

            def in_thread(args: threading.ExceptHookArgs) -> None:
                if isinstance(args.exc_value, Exception) and shortage_sentence(args.exc_value):
                    self._browser._handle_exception(args.exc_value)
                threading.__excepthook__(args)

            def in_callback(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
                error = context.get("exception")
                if isinstance(error, Exception) and shortage_sentence(error):
                    self._browser._handle_exception(error)
                loop.default_exception_handler(context)

            threading.excepthook = in_thread
            loop.set_exception_handler(in_callback)

        def _run_input_thread(self) -> None:
            """Read keys in a thread; an error here ends the browser, as an error in the event loop does."""
            try:
                self.run_input_thread()
            except Exception as error:
                if shortage_sentence(error):
                    self._browser._handle_exception(error)
                self._do_soon(partial(self._browser._handle_exception, error))

        def close(self) -> None:
            """Wait until Textual's writer thread has written all output; after that, the terminal is restored."""
            # Textual's `close` fails if the writer thread could not be started.
            if self._writer_thread is not None and self._writer_thread.is_alive():
                super().close()
            self._is_taken = False

        def _give_back(self) -> None:
            """Restore the terminal from a signal handler; output of threads that still run goes to the null device."""
            if not self._is_taken:
                return
            terminal = os.dup(2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.write(terminal, NORMAL_SCREEN)
            if self._modes_before is not None:
                termios.tcsetattr(self.fileno, termios.TCSANOW, self._modes_before)

        # A signal may interrupt the main thread while it holds the lock of the output queue. Writing in a handler would
        # then block forever, so both signal handlers below schedule their work in the event loop.

        def _sigtstp_application(self, *_: object) -> None:
            if self._auto_restart:
                self._do_soon(super()._sigtstp_application)
            else:
                super()._sigtstp_application()

        def _sigcont_application(self, *_: object) -> None:
            if self._auto_restart:
                self._do_soon(self._go_on)

        def _do_soon(self, work: Callable[[], object]) -> None:
            # Asyncio raises RuntimeError if the event loop has ended already.
            with suppress(RuntimeError):
                if self._event_loop is not None:
                    self._event_loop.call_soon_threadsafe(work)

        def _go_on(self) -> None:
            """Switch the terminal to the full screen again after SIGCONT (the shell's `fg`), and repaint it."""
            if self._key_thread is None or not self._key_thread.is_alive():
                super()._sigcont_application()
            else:
                self._take_terminal_again()
            # The terminal's alternate screen is empty after SIGSTOP and SIGCONT, so everything is painted again.
            self._browser.call_later(self._browser.paint_again)

        def _take_terminal_again(self) -> None:
            """Set the terminal's modes again, because the shell changed them while the browser was stopped."""
            if self._modes is not None:
                with suppress(termios.error):
                    termios.tcsetattr(self.fileno, termios.TCSANOW, self._modes)
            self.write(FULL_SCREEN)
            self.flush()

    return TerminalDriver


class TerminalFile:
    """A file object that writes to the terminal, and to the null device once the terminal is closed.

    Textual writes in a thread that ends at the first error; without this class the app would then hang, waiting for
    the thread.
    """

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> None:
        """Write text to the terminal, or to the null device once the terminal is closed."""
        try:
            self._terminal.write(text)
        except OSError:
            self._use_null_device()

    def flush(self) -> None:
        """Send the text written so far to the terminal."""
        try:
            self._terminal.flush()
        except OSError:
            self._use_null_device()

    def _use_null_device(self) -> None:
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, self._terminal.fileno())
        os.close(null_device)

    def fileno(self) -> int:
        """Return the terminal's file descriptor."""
        return self._terminal.fileno()
