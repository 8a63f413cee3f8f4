"""The base class of all screens: runs the commands of pressed keys and keeps the footer up to date."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from msgspec.structs import replace
from textual import events, on
from textual.app import App
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.text import clean
from sessionbrowse.tui.commands.command import EVERYWHERE, PROJECTS, REVIEW, TYPING, Command, CommandContext
from sessionbrowse.tui.commands.table import BY_ID, FOOTER, FOOTER_KEYS, WHILE_TYPING, WHILE_TYPING_SHOWN
from sessionbrowse.tui.data.jobs import Lane, Outcome
from sessionbrowse.tui.paint.lean_compositor import LeanCompositor
from sessionbrowse.tui.shell.browser import BaseScreen, Browser
from sessionbrowse.tui.widgets.row_list import RowList
from sessionbrowse.tui.widgets.span_view import KeyBar
from sessionbrowse.tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from sessionbrowse.tui.reading.views import ViewedEntry

Result = TypeVar("Result")

EDITING = frozenset({"backspace", "ctrl+backspace", "delete"})
"""Keys that edit the text of a focused text line, even if a command has the key too."""

NOT_WHILE_TYPING = frozenset({"pane_left", "pane_right", "first", "last"})
"""Ids of commands whose keys (such as the arrows) only move the text cursor while a text line is focused."""

HOPS = 6
"""Turns of the event loop after a key press until list, screen, top bar and footer have handled their messages."""

ANSWER_SECONDS = 0.016
"""Maximum seconds that a frame waits for background work that a key press started, to show the result at once."""

MOUNT_SECONDS = 2.0
"""Maximum seconds that the handling of a key press waits until the screen is mounted."""


class CommandScreen(BaseScreen[Result], inherit_bindings=False):
    """The base class of all screens: a key press runs a command of the command table."""

    AUTO_FOCUS: ClassVar[str | None] = ""
    """Empty, because each screen focuses a pane itself; with None, Textual would focus the first widget."""

    CONTEXTS: ClassVar[tuple[str, ...]] = ()
    """The contexts (groups of commands) whose keys always work on the screen."""

    TYPING_CONTEXT: str = TYPING
    """The context (group of commands) whose keys work while a text line is focused."""

    ELSEWHERE: ClassVar[dict[str, tuple[str, str, str]]] = {}
    """Hints for keys that do nothing in the focused pane but work in another pane.

    The dictionary's keys are the contexts (groups of commands) of the focused pane. A hint consists of the other pane's
    context, a clause such as "this command works in the tree", and the id of the command that focuses the other pane.
    """

    TYPES_INTO: ClassVar[str] = ""
    """Id of the command that focuses the text line; with the setting `habits = "pi"`, a typed letter runs it first."""

    ENTER: ClassVar[str] = "open"
    """The id of the command that Enter, or a double click, runs on a row."""

    IS_FIRST: ClassVar[bool] = False
    """True for the browser's first screen; the styles of other screens are loaded after the first paint."""

    class Delivered(Message):
        """Textual message: a background job of the screen has produced a value or an error."""

        def __init__(self, outcome: Outcome) -> None:
            super().__init__()
            self.outcome = outcome

    def __init__(self, *, name: str | None = None) -> None:
        super().__init__(LeanCompositor(), name=name)
        self._lanes: dict[str, Lane] = {}
        self._deliver: Callable[[Outcome], object] = lambda outcome: self.post_message(self.Delivered(outcome))
        self._receivers: dict[str, Callable[[Outcome], object]] = {}
        self._was_shown_before = False
        self._open_frames = 0
        self._after_frame: list[Callable[[], object]] = []
        self._awaited: str | None = None
        self._answer_came = asyncio.Event()

    def before_first_frame(self, app: App[Any]) -> None:
        """Load the styles, and set the CSS class for the terminal's width, because Textual would set it too late."""
        if not self.IS_FIRST:
            self.browser.read_styles()
        fitting = [name for least, name in app.HORIZONTAL_BREAKPOINTS or [] if app.size.width >= least]
        self.add_class(*fitting[-1:], update=False)

    @on(events.ScreenResume)
    def _keep_new_styles(self, event: events.ScreenResume) -> None:
        """Skip Textual's refresh of styles when the screen is first shown: a new screen has current styles."""
        if not self._was_shown_before:
            event.refresh_styles, self._was_shown_before = False, True

    @property
    def browser(self) -> Browser:
        """The app, typed as the protocol that screens may use."""
        return cast(Browser, self.app)

    @property
    def is_top(self) -> bool:
        """True if this screen is on top of all others; only the top screen can be dismissed."""
        return self.app.screen is self

    # -- the state of a screen, for commands ---------------------------------------------------------------------

    def contexts(self) -> tuple[str, ...]:
        """Return the contexts (groups of commands) whose keys work now: the focused pane's, then the screen's."""
        return self.CONTEXTS

    def active_contexts(self) -> tuple[str, ...]:
        """Return all contexts (groups of commands) whose keys work now; the group for all screens comes last."""
        return (*self.contexts(), EVERYWHERE)

    def command_context(self) -> CommandContext:
        """Return the state of the screen that decides which commands are available."""
        return CommandContext()

    def position(self) -> str:
        """Return the cursor's position in the focused list, as `3/120`."""
        moving = self.moving()
        return f"{moving.cursor + 1:,}/{moving.count:,}" if isinstance(moving, RowList) and moving.count else ""

    @property
    def viewed_entry(self) -> ViewedEntry | None:
        """The session and entry that copy commands use, and how the entry is shown; None if no session is shown."""
        return None

    def moving(self) -> RowList | TextView | None:
        """Return the pane that the movement keys act on; None if the screen has no such pane."""
        focused = self.focused
        return focused if isinstance(focused, RowList | TextView) else None

    # -- keys → commands ----------------------------------------------------------------------------------------

    @property
    def typing(self) -> bool:
        """True if a text line is focused."""
        return isinstance(self.focused, Input)

    async def press(self, event: events.Key | events.Paste) -> bool:
        """Handle a key press or a paste: edit the focused text line, or run the command of the key."""
        # A key may be pressed before the screen has its widgets, on which the key acts.
        await self.wait_until_mounted(MOUNT_SECONDS)
        async with self._in_one_frame():
            self.expect(None)
            if isinstance(event, events.Paste):
                if isinstance(line := self.focused, Input):
                    line.replace(clean(event.text.strip()), *line.selection)
                    self.text_changed(line.value)
                return True
            is_done = await self.take_key(event)
            # Wait for the background result that the command expects, unless further key presses are waiting.
            if self._awaited is not None and not self.app.message_queue_size:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._answer_came.wait(), ANSWER_SECONDS)
            return is_done

    def expect(self, lane: Lane | None) -> None:
        """Delay painting by up to `ANSWER_SECONDS`, until a job of the background queue `lane` has a result to show."""
        self._awaited = lane.name if lane is not None else None
        self._answer_came.clear()

    @asynccontextmanager
    async def _in_one_frame(self) -> AsyncIterator[None]:
        """Paint all changes of the `with` block at once; else top bar and footer would change later than the cursor."""
        self._open_frames += 1
        try:
            with self.app.batch_update():
                yield
                for _ in range(HOPS):
                    await asyncio.sleep(0)
        finally:
            self._open_frames -= 1
            if not self._open_frames:
                waiting, self._after_frame = self._after_frame, []
                for callback in waiting:
                    self.call_after_refresh(callback)
            # After a batch update Textual notifies only the app, so `check_idle` must make the screen paint.
            self.app.screen.check_idle()

    def after_frame(self, callback: Callable[[], object]) -> None:
        """Call `callback` after the next frame is painted."""
        if self._open_frames:
            self._after_frame.append(callback)
        else:
            self.call_after_refresh(callback)

    async def take_key(self, event: events.Key) -> bool:
        """Edit the focused text line, or run the command of a key press; return False if the key does nothing here."""
        focused = self.focused
        if not isinstance(focused, Input):
            command = self.browser.keys.find(event.key, self.active_contexts())
            if command is not None:
                self.run_command(command)
            elif (reason := self.browser.keys.elsewhere(event.key, self.active_contexts(), self.ELSEWHERE)) is not None:
                self.browser.say(reason, "warning")
            elif _is_typed(event) and _types_at_once(self):
                self.run_command(self.browser.keys.by_id[self.TYPES_INTO])
                focused = self.focused
                if isinstance(focused, Input):
                    focused.cursor_position = len(focused.value)
            if not isinstance(focused, Input):
                return command is not None
        if _is_typed(event) and event.character is not None:
            focused.replace(event.character, *focused.selection)
            self.text_changed(focused.value)
            return True
        command = _typing_command(self, event.key)
        if command is not None:
            self.run_command(command)
        elif await self.browser.run_binding(event.key):
            self.text_changed(focused.value)
        return True

    def text_changed(self, text: str) -> None:
        """Apply the text of the focused text line, for example as a filter; may be called again with equal text."""

    @on(Input.Changed)
    def _input_changed(self, event: Input.Changed) -> None:
        # `event.value` may be outdated, so use `event.input.value`.
        event.stop()
        if event.input is self.focused:
            self.text_changed(event.input.value)

    def run_command(self, command: Command) -> None:
        """Run a command, or show a toast with the reason why the command is unavailable."""
        reason = command.unavailable(state_for_commands(self))
        if reason is not None:
            self.browser.say(reason, "warning")
            return
        try:
            if (handler := self.handler_of(command.id)) is not None:
                handler()
        except SessionBrowseError as error:
            self.browser.say(str(error), "error")
        self.update_footer()

    def handler_of(self, command_id: str) -> Callable[[], None] | None:
        """Return the screen's method `do_<id>` that runs a command, or the app's function for it; None if none does."""
        own: Callable[[], None] | None = getattr(self, f"do_{command_id}", None)
        function = self.browser.function_of(self.name or "", command_id) if own is None else None
        return own if function is None else partial(function, self)

    @property
    def subject(self) -> Summary | None:
        """The session that commands for one session act on; None if the cursor is on no session."""
        return None

    @property
    def project(self) -> str | None:
        """The directory that commands for a project act on, such as that of the session under the cursor."""
        return (self.subject.cwd or None) if self.subject is not None else None

    @property
    def entry_id(self) -> str | None:
        """The id of the entry that commands for one entry act on; None if the cursor is on no entry."""
        return None

    @property
    def entry_to_resume(self) -> str | None:
        """The id of the entry under the cursor, to resume from it; None at the leaf, where agents resume by default."""
        return None

    @property
    def chosen(self) -> Sequence[Summary]:
        """The sessions that a change acts on; empty on a screen without sessions."""
        return ()

    def reveal(self, key: Hashable) -> bool:
        """Move the cursor to the row of a project, session or entry; return False if no such row exists."""
        return False

    @property
    def back_clears(self) -> str:
        """The footer's words for the command "back" if it clears something, such as `clear search`; else ""."""
        return ""

    # -- the footer ---------------------------------------------------------------------------------------------

    def update_footer(self) -> None:
        """Show the screen's keys in the footer; the keys of unavailable commands are faint."""
        bars = self.query(KeyBar)
        if not bars:
            return
        context = state_for_commands(self)
        keys = self.browser.keys
        contexts = self.active_contexts()
        if self.typing:
            typed = self.TYPING_CONTEXT
            contexts = (*contexts, typed) if _types_at_once(self) else (typed, *contexts)
        # Some keys are shown only where they matter most: to leave a review or a search, to delete what is selected.
        # The setting `enter` decides if the key of "open" opens the tree or resumes; the other action's key is shown.
        resumes = self.browser.options.settings.enter == "resume"
        needed = {
            "resume": not resumes,
            "browse": resumes,
            "next_hit": context.has_filter,
            "back": REVIEW in contexts or bool(self.back_clears),
            "delete": context.selected,
            "search_tools": context.has_filter or self.typing,
        }
        shown = [
            command
            for command in keys.at(contexts)
            if command.id in FOOTER and needed.get(command.id, True) and keys.shown(command, contexts)
        ]
        if self.typing and not _types_at_once(self):
            shown = [each for each in shown if self.TYPING_CONTEXT in each.where or each.id in WHILE_TYPING_SHOWN]
        if context.caller is not None:
            shown = [command for command in shown if command.off_in_agent is None]
        shown.sort(key=lambda command: FOOTER.index(command.id))
        shown = [*shown[: FOOTER_KEYS - 1], *shown[-1:]] if len(shown) > FOOTER_KEYS else shown
        bars.first().show(
            [
                (each.id, keys.shown(each, contexts), _verb(self, each), each.unavailable(context) is None)
                for each in shown
            ],
            self.position(),
        )
        bars.first().tell(self.browser.message.sentence, self.browser.message.severity)

    @on(RowList.Entered)
    def _row_entered(self, event: RowList.Entered) -> None:
        event.stop()
        self.row_entered()

    def row_entered(self) -> None:
        """Act on a double click on a row: run the command that Enter runs in a list of the screen."""
        self.run_command(BY_ID[self.ENTER])

    @on(KeyBar.Pressed)
    def _hint_pressed(self, event: KeyBar.Pressed) -> None:
        event.stop()
        self.run_command(self.browser.keys.by_id[event.command_id])

    def set_focus(self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False) -> None:
        """Focus a widget and update the screen at once, because the next key press may already be waiting."""
        super().set_focus(widget, scroll_visible, from_app_focus)
        self.focus_changed()

    def focus_changed(self) -> None:
        """Update the cursors of the lists, and the footer, after another widget got the focus."""
        for row_list in self.query(RowList):
            row_list.lend_keys(self.typing and self.moving() is row_list)
        self.update_footer()

    # -- work in the background ---------------------------------------------------------------------------------

    def lane(self, name: str, receive: Callable[[Outcome], object] | None = None) -> Lane:
        """Return the background queue (lane) of this name; from now on `receive` handles the queue's results."""
        if receive is not None:
            self._receivers[name] = receive
        if name not in self._lanes:
            self._lanes[name] = Lane(name, self._deliver)
        return self._lanes[name]

    def adopt(self, lane: Lane, receive: Callable[[Outcome], object]) -> None:
        """Let `receive` handle the results of a background queue (lane) that started before the screen."""
        self._lanes[lane.name] = lane
        self._receivers[lane.name] = receive
        lane.connect(self._deliver)

    @on(Delivered)
    async def _delivered(self, message: Delivered) -> None:
        message.stop()
        outcome = message.outcome
        lane = self._lanes.get(outcome.lane)
        if lane is None or not lane.is_current(outcome):
            return
        async with self._in_one_frame():
            self._receivers[outcome.lane](outcome)
            self.update_footer()
        if outcome.lane == self._awaited:
            self._answer_came.set()

    @property
    def busy(self) -> bool:
        """True while background work of the screen is running."""
        return any(lane.busy for lane in self._lanes.values())

    def on_unmount(self) -> None:
        """Cancel the screen's background work."""
        for lane in self._lanes.values():
            lane.cancel()


def state_for_commands(screen: CommandScreen[Any]) -> CommandContext:
    """Return a screen's state, with the agent from which the user started `sessionbrowse pick`, if any."""
    context, caller, subject = screen.command_context(), screen.browser.caller, screen.subject
    # Of several sessions, those that can be changed are changed, and a sentence tells of the others.
    only_read = RULES[subject.agent].only_read if subject is not None and not context.selected else None
    context = replace(context, enter_resumes=opens_by_resuming(screen), only_read=only_read)
    if caller is None:
        return context
    return replace(context, caller=caller.agent, is_callers=subject is not None and caller.has_open(subject.path))


def _is_typed(event: events.Key) -> bool:
    """Return True if a key types its character; with Alt or Ctrl a key types nothing, though it has a character."""
    return event.is_printable and not event.key.startswith(("alt+", "ctrl+"))


def _types_at_once(screen: CommandScreen[Any]) -> bool:
    """Return True if any typed letter goes into the screen's text line, as with the setting `habits = "pi"`."""
    return screen.browser.keys.types and bool(screen.TYPES_INTO)


def _verb(screen: CommandScreen[Any], command: Command) -> str:
    """Return the words for a command in the footer: "choose", "resume", "quit", what Esc does, or the title."""
    options = screen.browser.options
    if command.id == "back" and screen.back_clears:
        return screen.back_clears
    if command.id == "quit":
        return "quit"
    if command.id == "open" and options.pick is not None:
        return "choose"
    return "resume" if command.id == "open" and opens_by_resuming(screen) else command.title.lower()


def opens_by_resuming(screen: CommandScreen[Any]) -> bool:
    """Return True if the command "open" resumes the session or entry under the cursor (setting `enter`)."""
    options = screen.browser.options
    has_sessions = screen.name in ("browse", "session") and screen.active_contexts()[0] != PROJECTS
    return options.settings.enter == "resume" and options.pick is None and has_sessions


def _typing_command(screen: CommandScreen[Any], key: str) -> Command | None:
    """Return the command that a key runs while the user types; None if the key belongs to the text line."""
    if key in EDITING:
        return None
    keys, context = screen.browser.keys, screen.TYPING_CONTEXT
    active = screen.active_contexts()
    at_once = _types_at_once(screen)
    # With the setting `habits = "pi"`, all commands work while the user types, but Escape clears the text line.
    command = keys.find(key, (*active, context) if at_once and key != "escape" else (context, *active))
    if command is None or (at_once and command.id in NOT_WHILE_TYPING):
        return None
    return command if at_once or command.id in WHILE_TYPING or context in command.where else None
