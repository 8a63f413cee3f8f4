"""The line in which a list is filtered: appears with `/`, says at once what is wrong with a pattern."""

from __future__ import annotations

from functools import cached_property

from textual.containers import Horizontal
from textual.widgets import Input

from sessionbrowse.tui.paint.spans import Line, fit
from sessionbrowse.tui.widgets.bars import Bar
from sessionbrowse.tui.widgets.filter_input import FilterInput


class FilterLine(Horizontal):
    """A prompt, a text field, and what the filter found; made when it is first opened, as few lists are filtered."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.display = False

    @cached_property
    def _prompt(self) -> Bar:
        return Bar(id="filter-prompt")

    @cached_property
    def input(self) -> Input:
        """The text field."""
        return FilterInput(id="filter-input", compact=True, select_on_focus=False)

    @cached_property
    def _status(self) -> Bar:
        return Bar(id="filter-status")

    def open(self, prompt: str, text: str, placeholder: str, *, replacing: bool = False) -> None:
        """Show the line with the text it had and give it the keys; what is typed goes on there, or replaces it."""
        if not self.children:
            self.mount(self._prompt, self.input, self._status)
        self._prompt.show([(prompt, "key")])
        self._prompt.styles.width = len(prompt) + 1
        self.input.placeholder = placeholder
        self.set_text(text)
        self.display = True
        self.screen.set_focus(self.input)
        if replacing:
            self.input.select_all()

    def show_kept(self, prompt: str, text: str) -> None:
        """Show the line with a text that filters, without giving it the keys."""
        focused = self.screen.focused
        self.open(prompt, text, "")
        self.screen.set_focus(focused)

    def set_text(self, text: str) -> None:
        """Put a text into the field without telling anybody."""
        if self.input.value != text:
            with self.prevent(Input.Changed):
                self.input.value = text
            self.input.cursor_position = len(text)

    def close(self) -> None:
        """Hide the line."""
        self.display = False

    def say(self, status: Line) -> None:
        """Show what the filter found, or why it cannot."""
        bar = self._status
        # Without the cut a long sentence would leave no room for itself.
        bar.show([], fit(status, max(8, bar.size.width - 3)) if bar.size.width else status)
