"""The text field in which is filtered, found and answered."""

from __future__ import annotations

from textual import events
from textual.geometry import Size
from textual.widgets import Input

from sessionbrowse.text import clean


class FilterInput(Input):
    """A text field that takes no control character, whatever is pasted."""

    ALLOW_SELECT = False

    def on_mount(self) -> None:
        """Hold the cursor still: nothing on the screen moves by itself."""
        self.cursor_blink = False

    def _watch_value(self, value: str) -> None:
        # Setting the property would lay the whole screen out anew with every letter, though the field stays as wide.
        self.set_reactive(Input.virtual_size, Size(self.content_width, 1))
        super()._watch_value(value)

    def _on_paste(self, event: events.Paste) -> None:
        # Textual hands the event on to the field itself, which puts the text in.
        event.text = clean(event.text.strip())
