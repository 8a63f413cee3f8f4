"""The part of the app that has to do with the terminal: keys in their order, themes, toasts and the clipboard."""

from __future__ import annotations

import asyncio
import re
import signal
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cached_property

from textual import events
from textual.notifications import SeverityLevel
from textual.theme import Theme

from sessionbrowse.text import clean
from sessionbrowse.tui.outside.terminal import terminal_is_gone
from sessionbrowse.tui.paint import theme
from sessionbrowse.tui.paint.textual_compat import CompatApp
from sessionbrowse.tui.shell.command_screen import CommandScreen


class TerminalApp(CompatApp, inherit_bindings=False):
    """An app with our themes, toasts for foreign text, and keys that are carried out one after another."""

    home: str
    """The home directory, which toasts shorten to `~`."""

    # -- the terminal and signals ------------------------------------------------------------------------------

    def leave_with_signal(self, number: int) -> None:
        """Save the views and end the program."""
        raise NotImplementedError

    def leave_if_terminal_is_gone(self) -> None:
        """End the program when its terminal was closed."""
        if terminal_is_gone():
            self.leave_with_signal(1)

    def leave_on_signals(self) -> None:
        """Leave when asked to by the system, between two things: broken off anywhere, threads and locks would stay."""
        # Windows has no such handlers.
        with suppress(NotImplementedError, AttributeError):
            for number in (signal.SIGHUP, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, self.leave_with_signal, number)

    # -- keys ---------------------------------------------------------------------------------------------------

    @cached_property
    def _key_queue(self) -> KeyQueue:
        return KeyQueue(self._carry_out)

    async def on_event(self, event: events.Event) -> None:
        """Carry out a key on the screen of now before the next key is looked at.

        Textual hands keys from queue to queue, so keys that come together would meet the focus, or the screen, of
        before: of `/auth` typed at once, `auth` would reach the list as commands.
        """
        if isinstance(event, events.Key) and not event.is_forwarded:
            await self._key_queue.take(event)
            return
        await super().on_event(event)

    async def _carry_out(self, key: events.Key) -> None:
        screen = self.screen
        if not isinstance(screen, CommandScreen) or not await screen.press(key):
            await super().on_event(key)

    def hold_keys(self) -> None:
        """Keep the keys for a question that is being prepared: they are the answer, not commands for the screen below.

        `release_keys` must follow.
        """
        self._key_queue.hold()

    def release_keys(self) -> None:
        """Carry out the keys that were kept, on the screen that stands there now."""
        if self._key_queue.let_go():
            self.call_later(self._key_queue.give)

    async def run_binding(self, key: str) -> bool:
        """Run what the focused widget itself binds to a key: moving and deleting in a line of text."""
        bound = self.screen.active_bindings.get(key)
        return bound is not None and await self.run_action(bound.binding.action, bound.node)

    # -- themes -------------------------------------------------------------------------------------------------

    @property
    def available_themes(self) -> dict[str, Theme]:
        """Textual's themes and ours, by name."""
        return theme.AVAILABLE

    def find_theme(self, wanted: str) -> str | None:
        """Return the name of a theme of ours or of Textual; None if there is none of that name."""
        name = theme.NAMES.get(wanted, wanted)
        return name if name in self.available_themes else None

    def get_css_variables(self) -> dict[str, str]:
        """Return the theme's variables, with ours where it has none."""
        variables = super().get_css_variables()
        own = theme.missing_variables(variables)
        self.theme_variables = {**own, **variables}
        return self.theme_variables

    def next_theme(self) -> None:
        """Show the next of our themes and say its name."""
        names = [own.name for own in theme.THEMES]
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]
        self.say(f"Colours: {self.theme.removeprefix('sessionbrowse-').replace('-', ' ')}.")

    # -- toasts and clipboard ---------------------------------------------------------------------------------

    def say(self, sentence: str, severity: SeverityLevel = "information") -> None:
        """Show a toast, in place of an equal one; the sentence may hold text of sessions."""
        message = clean(self.in_short(sentence))
        self.remove_notifications(lambda notice: notice.message == message)
        self.notify(message, severity=severity, markup=False)

    def unsay(self) -> None:
        """Remove the toasts that are no warning: their "u undoes" would now mean another change."""
        self.remove_notifications(lambda notice: notice.severity == "information")

    def in_short(self, sentence: str) -> str:
        """Return a sentence with `~` for the home directory in its paths."""
        return re.sub(rf"(?<![\w./-]){re.escape(self.home)}(?=/)", "~", sentence) if self.home else sentence

    def copy(self, content: str, what: str) -> None:
        """Copy text to the clipboard through the terminal."""
        self.copy_to_clipboard(content)
        self.say(f"Copied {what}.")


class KeyQueue:
    """Keys on their way to the screens, in the order typed; they wait while a dialog is prepared."""

    def __init__(self, carry_out: Callable[[events.Key], Awaitable[None]]) -> None:
        self._carry_out = carry_out
        self._waiting: deque[events.Key] = deque()
        self._holding = False

    async def take(self, key: events.Key) -> None:
        """Carry a key out, or hold it: also behind those that came before it and still wait."""
        if self._holding or self._waiting:
            self._waiting.append(key)
        else:
            await self._carry_out(key)

    def hold(self) -> None:
        """Hold keys from now on; `let_go` and `give` must follow."""
        self._holding = True

    def let_go(self) -> bool:
        """Hold no more; return whether keys were held."""
        held, self._holding = self._holding, False
        return held

    async def give(self) -> None:
        """Carry out the keys that wait, on the screen that stands there now."""
        # The answer, or a key, may ask something in its turn: the rest is for that question.
        while self._waiting and not self._holding:
            await self._carry_out(self._waiting.popleft())
