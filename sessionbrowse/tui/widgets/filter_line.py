"""The row in which the user types a filter or a search, with the result at the right; the text field of dialogs."""

from __future__ import annotations

from functools import cached_property

from textual.containers import Horizontal
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widgets import Input

from sessionbrowse.tui.paint.spans import Line, line_width
from sessionbrowse.tui.widgets.span_view import Bar


class FilterInput(Input):
    """A one-line text field, which has no blinking cursor."""

    ALLOW_SELECT = False

    # Textual declares this attribute with `layout=True`; each typed letter would then lay out the whole screen again.
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)

    def on_mount(self) -> None:
        """Turn off the blinking of the text cursor."""
        self.cursor_blink = False


STATUS_CELLS, LEAST_ROOM = 46, 8
"""Width of the status text (as in the style sheet); free cells after the typed text if the status is wider."""


class FilterLine(Horizontal):
    """A row with a prompt, a text field and a status text; its child widgets are created when it is first opened."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.display = False
        self._grown: int | None = None

    @cached_property
    def _prompt(self) -> Bar:
        return Bar(id="filter-prompt")

    @cached_property
    def input(self) -> Input:
        """The text field in which the filter is typed."""
        return FilterInput(id="filter-input", compact=True, select_on_focus=False)

    @cached_property
    def _status(self) -> Bar:
        return Bar(id="filter-status")

    def open(self, prompt: str, text: str, placeholder: str, *, replacing: bool = False) -> None:
        """Show and focus the filter line with `text`; typing appends to the text, or replaces it if `replacing`."""
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

    def set_text(self, text: str) -> None:
        """Set the text of the text field without posting Textual's message `Input.Changed`."""
        if self.input.value != text:
            with self.prevent(Input.Changed):
                self.input.value = text
            self.input.cursor_position = len(text)

    def close(self) -> None:
        """Hide the filter line."""
        self.display = False

    def say(self, status: Line) -> None:
        """Show a status text, such as the number of results or an error, at the right of the filter line.

        A long status text may take all cells that the typed text does not need; before anything is typed, the
        placeholder gets the rest.
        """
        bar, typed = self._status, self.input.value
        room = self.size.width - len(typed) - LEAST_ROOM
        wanted = min(line_width(status) + 3, room)
        width = wanted if wanted > (STATUS_CELLS if typed else 0) else None
        if width != self._grown:
            self._grown = width
            bar.styles.width = width
        bar.show([], status)
