"""The text field for filters, searches and answers to dialogs."""

from __future__ import annotations

from textual import events
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widgets import Input

from sessionbrowse.text import clean


class FilterInput(Input):
    """A text field that removes control characters from pasted text."""

    ALLOW_SELECT = False

    # With Textual's `layout=True` each letter would lay out the whole screen, though the field stays as wide.
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)

    def on_mount(self) -> None:
        """Stop the cursor from blinking: nothing on the screen moves by itself."""
        self.cursor_blink = False

    def on_paste(self, event: events.Paste) -> None:
        # Textual's own handler comes next and inserts the text.
        event.text = clean(event.text.strip())
