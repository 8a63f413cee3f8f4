"""The base class of the app; handles the terminal: keys in typed order, themes, messages, clipboard, signals."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import cast

from textual import events
from textual.theme import Theme
from textual.timer import Timer

from sessionbrowse.text import clean
from sessionbrowse.tui.outside.terminal import terminal_is_gone
from sessionbrowse.tui.paint import theme
from sessionbrowse.tui.paint.signals import ENDING
from sessionbrowse.tui.paint.textual_compat import CompatApp
from sessionbrowse.tui.shell.browser import SILENCE, FoundEntry, Said, Severity
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.widgets.bars import KeyBar

MOST_MESSAGES = 200
"""Maximum number of messages that can be read again."""


class TerminalApp(CompatApp, inherit_bindings=False):
    """A Textual app with sessionbrowse's themes, messages safe for any text, and keys handled in typed order."""

    home: str
    """The home directory, which messages shorten to `~`."""
    message: Said = SILENCE
    """The message above the footer."""
    MESSAGE_SECONDS = 4.0
    """Number of seconds after which a message disappears."""

    @cached_property
    def _message_timer(self) -> Timer:
        return self.set_timer(self.MESSAGE_SECONDS, self.unsay, pause=True)

    def now_ms(self) -> float:
        """Return the time in milliseconds since 1970."""
        raise NotImplementedError

    # -- the terminal and signals ------------------------------------------------------------------------------

    def leave_with_signal(self, number: int) -> None:
        """Save how the user left the screens, and end the program because of the signal `number`."""
        raise NotImplementedError

    def leave_if_terminal_is_gone(self) -> None:
        """End the program if its terminal was closed."""
        if terminal_is_gone():
            self.leave_with_signal(1)

    def leave_on_signals(self) -> None:
        """Make signals such as SIGTERM end the program from its event loop, so that threads and locks are released."""
        loop = asyncio.get_running_loop()
        ENDING.request = lambda number: loop.call_soon_threadsafe(self.leave_with_signal, number)

    # -- keys ---------------------------------------------------------------------------------------------------

    @cached_property
    def _key_queue(self) -> KeyQueue:
        return KeyQueue(self._carry_out)

    async def on_event(self, event: events.Event) -> None:
        """Handle each key press completely before the next key press.

        Textual passes keys through several queues. If the user typed `/auth` quickly, all five keys would go to the
        focused list: the letters `auth` would run commands instead of being typed in the filter line that `/` opens.
        """
        if isinstance(event, events.Key) and not event.is_forwarded:
            if event.time < self.stopped_until:
                return
            await self._key_queue.take(event)
            return
        await super().on_event(event)

    async def _carry_out(self, key: events.Key) -> None:
        screen = self.screen
        if not isinstance(screen, CommandScreen) or not await screen.press(key):
            await super().on_event(key)

    def hold_keys(self) -> None:
        """Queue the next key presses for a dialog that is being prepared, because the user means them for the dialog.

        `release_keys` must follow.
        """
        self._key_queue.hold()

    def release_keys(self) -> None:
        """Pass the key presses that `hold_keys` queued to the topmost screen."""
        if self._key_queue.let_go():
            self.call_later(self._key_queue.give)

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
        """Go to the next or previous session that the search below the topmost screen has found."""
        return cast(FoundEntry | None, getattr(self.screen_stack[-2], "step_found", lambda step: None)(step))

    def next_theme(self) -> None:
        """Switch to the next of sessionbrowse's themes, and say its name."""
        names = [own.name for own in theme.THEMES]
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]
        self.say(f"Colours: {self.theme.removeprefix('sessionbrowse-').replace('-', ' ')}.")

    # -- messages and clipboard --------------------------------------------------------------------------------

    @cached_property
    def messages(self) -> deque[Said]:
        """The last messages, oldest first, to be read again."""
        return deque(maxlen=MOST_MESSAGES)

    def say(self, sentence: str, severity: Severity = "information", *, keep_lines: bool = False) -> None:
        """Show a sentence above the footer for some seconds, as plain text without control characters.

        It replaces an earlier one; an equal one is not told again. `keep_lines` keeps the line breaks of a program's
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

    def copy(self, content: str, what: str) -> None:
        """Copy text to the clipboard through the terminal, and say which thing (`what`) was copied."""
        self.copy_to_clipboard(content)
        self.say(f"Copied {what}.")


class KeyQueue:
    """Queue that handles key presses in typed order, and holds them back while a dialog is being prepared."""

    def __init__(self, carry_out: Callable[[events.Key], Awaitable[None]]) -> None:
        self._carry_out = carry_out
        self._waiting: deque[events.Key] = deque()
        self._holding = False

    async def take(self, key: events.Key) -> None:
        """Handle a key press; or queue it if a dialog is being prepared or earlier keys are still queued."""
        if self._holding or self._waiting:
            self._waiting.append(key)
        else:
            await self._carry_out(key)

    def hold(self) -> None:
        """From now on, queue key presses; `let_go` ends this, and `give` handles the queued key presses."""
        self._holding = True

    def let_go(self) -> bool:
        """Stop holding key presses back; return True if they were held back."""
        held, self._holding = self._holding, False
        return held

    async def give(self) -> None:
        """Let the topmost screen handle the queued key presses."""
        # A key may open another dialog, which calls `hold`: then stop, as the remaining keys are meant for that dialog.
        while self._waiting and not self._holding:
            await self._carry_out(self._waiting.popleft())
