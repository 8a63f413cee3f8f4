"""Widgets, screens and the app with private names of Textual and Rich.

Only this module and `textual_driver` use private names. `tests/tui/paint/test_textual_compat.py` lists each of them,
and describes how to replace it if an upgrade removes it. `pyproject.toml` allows only versions of Textual in which all
these names exist.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from io import StringIO
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rich.color import ColorSystem
from rich.console import Console
from rich.text import Text
from textual import constants, events, on
from textual._compositor import ChopsUpdate, Compositor
from textual._compositor import LayoutUpdate as LayoutUpdate
from textual.app import App
from textual.geometry import Size
from textual.message_pump import MessagePump
from textual.reactive import Reactive
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.timer import Timer, TimerCallback

from sessionbrowse.tui.paint.terminal_cells import TerminalCells

if TYPE_CHECKING:
    from textual.driver import Driver

Result = TypeVar("Result")

FRAME_SECONDS = 1 / 120
"""Seconds between two repaints of the screen: half of Textual's 1/60 s, so that changes become visible sooner."""


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


def terminal_colors(environ: Mapping[str, str]) -> ColorSystem:
    """Return the color system of the terminal, as Textual finds it from the environment variables."""
    wanted = cast(Any, constants.COLOR_SYSTEM)
    return color_system(Console(color_system=wanted, file=StringIO(), force_terminal=True, _environ=dict(environ)))


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

    async def press(self, event: events.Key | events.Paste) -> bool:
        """Handle a key press or a paste; return True if that is done, False if Textual shall do it; to override."""
        return False

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

    @on(events.Resize)
    def _old_size_reported(self, event: events.Resize) -> None:
        # Textual repeats each size to the screen. If two sizes wait, it would lay out one, then the other, for ever.
        if event.size != self.app.size:
            event.prevent_default()

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
    """A Textual app that repaints only changed cells, keeps its focus, and ends after any error."""

    def __init__(self, driver_class: type[Driver] | None = None) -> None:
        super().__init__(driver_class=driver_class)
        self.terminal_cells = TerminalCells()
        self.stopped_until = 0.0
        """The time (`time.monotonic`) at which the process went on after it was stopped by a key."""

    def on_resize(self) -> None:
        """Send all cells again after a change of the terminal's size, because terminals then move or cut their text."""
        self.terminal_cells.forget()

    def paint_again(self) -> None:
        """Send the whole screen to the terminal again, because another program may have drawn on it."""
        self.terminal_cells.forget()
        self.refresh(layout=True)

    @property
    def is_ending(self) -> bool:
        """True once the app was told to end: its screens may be incomplete from then on."""
        return self._exit

    def _handle_exception(self, error: Exception) -> None:
        """End the app with a traceback.

        Ignore the error if the app is ending already: errors in screens that are not complete are expected then.
        """
        if self.is_ending:
            return
        # Textual prints the traceback of the error that is being handled, and fails if there is none, as in a callback.
        try:
            raise error
        except Exception:
            super()._handle_exception(error)

    async def call_what_is_next(self) -> None:
        """Call what `call_next` was given, such as what an answer of a dialog does.

        Textual waits with it until no event is waiting: the next key press would act on the screen below the dialog.
        """
        await self._flush_next_callbacks()

    def tell(self, sentence: str) -> None:
        """Tell the user a sentence; subclasses show it."""

    def stop_for_shell(self) -> None:
        """Give the terminal to the shell and stop the process, as Ctrl+Z does in other programs.

        Key presses from before are ignored: the user typed them for the shell.
        """
        stop: Callable[[], bool] | None = getattr(self._driver, "stop_process", None)
        if stop is not None and stop():
            self.stopped_until = time.monotonic()

    def _watch_app_focus(self, focus: bool) -> None:
        """Do nothing, to replace Textual's method that removes the focus from a pane when the terminal loses its focus.

        Keys would do nothing then, and a terminal does not always report that it has the focus again, for example after
        another program used it.
        """


class LastSentence(Exception):
    """An error that ends the app; Textual prints it without a traceback."""

    def __rich__(self) -> Text:
        return Text(f"sessionbrowse: {self}")
