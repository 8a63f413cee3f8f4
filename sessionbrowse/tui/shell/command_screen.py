"""The base of all screens: it turns keys into commands of the table and keeps the footer up to date."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from textual import events, on
from textual.app import App
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.tui.commands.command import Command, Here
from sessionbrowse.tui.commands.contexts import EVERYWHERE, TYPING
from sessionbrowse.tui.commands.table import BY_ID, FOOTER, WHILE_TYPING
from sessionbrowse.tui.data.jobs import Lane, Outcome
from sessionbrowse.tui.paint.lean_compositor import LeanCompositor
from sessionbrowse.tui.paint.textual_compat import CompatScreen
from sessionbrowse.tui.widgets.bars import KeyBar
from sessionbrowse.tui.widgets.row_list import RowList
from sessionbrowse.tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from sessionbrowse.tui.data.source import SessionUpdates
    from sessionbrowse.tui.reading.views import ViewedEntry
    from sessionbrowse.tui.shell.browser import Browser

Result = TypeVar("Result")

EDITING = frozenset({"backspace", "ctrl+backspace", "delete"})
"""Keys that edit a line while it is typed, whatever they mean elsewhere."""

HOPS = 6
"""Turns of the event loop in which what a key did reaches the screen: list → screen → bars → screen."""

ANSWER_SECONDS = 0.016
"""How long a frame waits for what a key asked for in the background: the answer in a frame of its own comes later."""

MOUNT_SECONDS = 2.0
"""How long a key waits for the screen it is for."""


class CommandScreen(CompatScreen[Result], inherit_bindings=False):
    """A screen whose keys are the rows of the command table."""

    AUTO_FOCUS: ClassVar[str | None] = ""
    """Each screen gives the keys to one of its panes itself; None would mean the app's choice, the first pane."""

    TYPED_IN: ClassVar[str] = TYPING
    """The place that holds while a line of text has the keys."""

    IS_FIRST: ClassVar[bool] = False
    """Whether the browser begins with it, so that its styles are there from the beginning."""

    class Delivered(Message):
        """A background job handed over a value."""

        def __init__(self, outcome: Outcome) -> None:
            super().__init__()
            self.outcome = outcome

    def __init__(self, *, name: str | None = None) -> None:
        super().__init__(LeanCompositor(), name=name)
        self._lanes: dict[str, Lane] = {}
        self._takers: dict[str, Callable[[Outcome], object]] = {}
        self._was_shown_before = False
        self._held = 0
        self._after_frame: list[Callable[[], object]] = []
        self._awaited: str | None = None
        self._answer_came = asyncio.Event()

    def before_first_frame(self, app: App[Any]) -> None:
        """Have styles and the class of the terminal's width at the first frame; textual sets the class after it."""
        if not self.IS_FIRST:
            self.browser.read_styles()
        fitting = [name for least, name in app.HORIZONTAL_BREAKPOINTS or [] if app.size.width >= least]
        self.add_class(*fitting[-1:], update=False)

    @on(events.ScreenResume)
    def _keep_new_styles(self, event: events.ScreenResume) -> None:
        """Keep the styles of a screen that was just made; only what was covered meanwhile may have old ones."""
        if not self._was_shown_before:
            event.refresh_styles, self._was_shown_before = False, True

    @property
    def browser(self) -> Browser:
        """The app, as the protocol that screens know."""
        return cast("Browser", self.app)

    @property
    def is_top(self) -> bool:
        """Whether nothing stands on it: only then it can be dismissed, as Textual takes away what is on top."""
        return self.app.screen is self

    @property
    def is_seen(self) -> bool:
        """Whether nothing opaque stands on it; Textual's `is_current` is also true of what is right below the top."""
        stack = self.app.screen_stack
        above = stack[stack.index(self) + 1 :] if self in stack else stack
        return all(screen.styles.background.a < 1 for screen in above)

    # -- what a screen answers ----------------------------------------------------------------------------------

    @abstractmethod
    def nearest_places(self) -> tuple[str, ...]:
        """Return the places that hold now, without `EVERYWHERE`."""

    @abstractmethod
    def here(self) -> Here:
        """Return what commands may ask."""

    def position(self) -> str:
        """Return where the cursor stands in the rows of the focused list."""
        moving = self.moving()
        return f"{moving.cursor + 1:,}/{moving.count:,}" if isinstance(moving, RowList) and moving.count else ""

    @property
    def viewed_entry(self) -> ViewedEntry | None:
        """Return what copies are made of."""
        return None

    def moving(self) -> RowList | TextView | None:
        """Return what the moving keys move."""
        focused = self.focused
        return focused if isinstance(focused, RowList | TextView) else None

    # -- keys → commands ----------------------------------------------------------------------------------------

    @property
    def typing(self) -> bool:
        """Whether a line of text has the keys."""
        return isinstance(self.focused, Input)

    def places(self) -> tuple[str, ...]:
        """Return the places that hold now, the nearest first."""
        return (*self.nearest_places(), EVERYWHERE)

    async def press(self, event: events.Key) -> bool:
        """Carry out a key: edit the line that is typed in, or give the command that it means here."""
        # Keys may come faster than a screen is laid out.
        await self.wait_until_mounted(MOUNT_SECONDS)
        async with self._in_one_frame():
            self._awaited = None
            is_done = await self._carry_out(event)
            await self._wait_for_answer()
            return is_done

    def expect(self, lane: Lane) -> None:
        """Wait a moment for the lane's answer, so that it is painted with the key that asked for it."""
        self._awaited = lane.name
        self._answer_came.clear()

    async def _wait_for_answer(self) -> None:
        # Where keys wait already they come first.
        if self._awaited is not None and not self.app.message_queue_size:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._answer_came.wait(), ANSWER_SECONDS)

    @asynccontextmanager
    async def _in_one_frame(self) -> AsyncIterator[None]:
        """Paint all that is done here at once: bars that follow the cursor would come a frame late."""
        self._held += 1
        try:
            with self.app.batch_update():
                yield
                for _ in range(HOPS):
                    await asyncio.sleep(0)
        finally:
            self._held -= 1
            if not self._held:
                waiting, self._after_frame = self._after_frame, []
                for callback in waiting:
                    self.call_after_refresh(callback)
            # The end of a batch tells the app only, and the screen paints.
            self.app.screen.check_idle()

    def after_frame(self, callback: Callable[[], object]) -> None:
        """Call back after the next frame is painted."""
        if self._held:
            self._after_frame.append(callback)
        else:
            self.call_after_refresh(callback)

    async def _carry_out(self, event: events.Key) -> bool:
        focused = self.focused
        if not isinstance(focused, Input):
            command = self.browser.keys.find(event.key, self.places())
            if command is not None:
                self.give(command)
            return command is not None
        if event.is_printable and event.character is not None:
            if focused.selection.is_empty:
                focused.insert_text_at_cursor(event.character)
            else:
                focused.replace(event.character, *sorted(focused.selection))
            self.text_changed(focused.value)
            return True
        command = self._command_while_typing(event.key)
        if command is not None:
            self.give(command)
        elif await self.browser.run_binding(event.key):
            self.text_changed(focused.value)
        return True

    def _command_while_typing(self, key: str) -> Command | None:
        if key in EDITING:
            return None
        keys = self.browser.keys
        command = keys.find(key, (self.TYPED_IN,)) or keys.find(key, self.places())
        return (
            command if command is not None and (command.id in WHILE_TYPING or self.TYPED_IN in command.where) else None
        )

    def text_changed(self, text: str) -> None:
        """Take the text of the line that is typed in; asked again with the same text it does nothing."""

    @on(Input.Changed)
    def _input_changed(self, event: Input.Changed) -> None:
        # The keyboard's letters are known already; this is for what is pasted. What it tells may be long past.
        event.stop()
        if event.input is self.focused:
            self.text_changed(event.input.value)

    def give(self, command: Command) -> None:
        """Run a command, or say why it cannot work here."""
        reason = command.unavailable(self.here())
        if reason is not None:
            self.browser.say(reason, "warning")
            return
        try:
            handler = self._handler(command.id)
            if handler is not None:
                handler()
        except SessionBrowseError as error:
            self.browser.say(str(error), "error")
        self.update_footer()

    def reload(self) -> None:
        """Read the files again: another program may have changed them."""
        command = BY_ID["reload"]
        if self.can_give(command):
            self.give(command)

    def can_give(self, command: Command) -> bool:
        """Whether this screen knows what the command does."""
        return self._handler(command.id) is not None

    def _handler(self, command_id: str) -> Callable[[], None] | None:
        """Return the screen's own method for a command, or the function that the table of handlers names."""
        own: Callable[[], None] | None = getattr(self, f"do_{command_id}", None)
        handler = self.browser.find_handler(self.name or "", command_id) if own is None else None
        return own if handler is None else partial(handler, self)

    @property
    def subject(self) -> Summary | None:
        """The session that a command for one session is for; None if there is none."""
        return None

    @property
    def project(self) -> str | None:
        """The directory that a command for a folder is for; None if there is none."""
        return None

    @property
    def entry_id(self) -> str | None:
        """The id of the entry that a command for an entry is for; None if there is none."""
        return None

    @property
    def entry_to_resume(self) -> str | None:
        """The id of the entry from which the session can be resumed instead; None if there is none."""
        return None

    @property
    def chosen(self) -> Sequence[Summary]:
        """The sessions that a change is for; none on a screen that shows none."""
        return ()

    def reveal(self, key: Hashable) -> bool:
        """Put the cursor on the row of a folder, a session or an entry; return whether it has a row."""
        return False

    def keep_view(self) -> None:
        """Remember how the screen is left, for the next time."""

    def sessions_changed(self, updates: SessionUpdates) -> None:
        """Take what a change touched, read anew; screens that show sessions say what becomes of theirs."""

    # -- the footer ---------------------------------------------------------------------------------------------

    def update_footer(self) -> None:
        """Show the keys that work here, those that cannot work now faint."""
        bars = self.query(KeyBar)
        if not bars:
            return
        here = self.here()
        places = (self.TYPED_IN,) if self.typing else self.places()
        shown = [command for command in self.browser.keys.at(places) if command.id in FOOTER]
        shown.sort(key=lambda command: FOOTER.index(command.id))
        bars.first().show(
            [
                (command.id, self.browser.keys.shown(command), command.title.lower(), command.unavailable(here) is None)
                for command in shown
            ],
            self.position(),
        )

    @on(KeyBar.Pressed)
    def _hint_pressed(self, event: KeyBar.Pressed) -> None:
        event.stop()
        self.give(self.browser.keys.by_id[event.command_id])

    def set_focus(self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False) -> None:
        """Focus a widget at once: the next key may already be waiting."""
        super().set_focus(widget, scroll_visible, from_app_focus)
        self.focus_changed()

    def focus_changed(self) -> None:
        """Update cursors and footer for the focused widget."""
        for row_list in self.query(RowList):
            row_list.lend_keys(self.typing and self.moving() is row_list)
        self.update_footer()

    # -- work in the background ---------------------------------------------------------------------------------

    def lane(self, name: str, take: Callable[[Outcome], object] | None = None) -> Lane:
        """Return the screen's lane of that name; its outcomes go to `take`, else to the screen's `take_<name>`."""
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = Lane(name, lambda outcome: self.post_message(self.Delivered(outcome)))
        if take is not None or name not in self._takers:
            self._takers[name] = take or getattr(self, f"take_{name}")
        return lane

    def adopt(self, lane: Lane, take: Callable[[Outcome], object]) -> None:
        """Have `take` handle the outcomes of a lane that was started before the screen."""
        self._lanes[lane.name] = lane
        self._takers[lane.name] = take
        lane.connect(lambda outcome: self.post_message(self.Delivered(outcome)))

    @on(Delivered)
    async def _delivered(self, message: Delivered) -> None:
        message.stop()
        outcome = message.outcome
        lane = self._lanes.get(outcome.lane)
        if lane is None or not lane.is_current(outcome):
            return
        async with self._in_one_frame():
            self._takers[outcome.lane](outcome)
            self.update_footer()
        if outcome.lane == self._awaited:
            self._answer_came.set()

    @property
    def busy(self) -> bool:
        """Whether background work is under way."""
        return any(lane.busy for lane in self._lanes.values())

    def on_unmount(self) -> None:
        """Cancel the background work."""
        for lane in self._lanes.values():
            lane.cancel()
