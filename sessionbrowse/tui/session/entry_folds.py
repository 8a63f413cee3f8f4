"""Commands for the folds and images of the entry beside the tree."""

from __future__ import annotations

from typing import Any

from sessionbrowse.tui.outside.viewer import show_image
from sessionbrowse.tui.reading.images import ImagePart
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.shell.jobs import Outcome
from sessionbrowse.tui.widgets.text_view import TextView


class EntryFolds:
    """Commands that unfold what the pane hides and open images."""

    def __init__(self, screen: CommandScreen[Any]) -> None:
        self._screen = screen

    @property
    def _text(self) -> TextView:
        return self._screen.query_one("#view", TextView)

    def do_open_marked(self) -> None:
        """Open or close the marked fold, or open the marked image."""
        spot = self._text.spot
        if isinstance(spot, ImagePart):
            self._open_image(spot)
        else:
            self._text.toggle_spot()

    def do_open_block(self) -> None:
        """Open or close the marked fold while the tree has the focus."""
        self.do_open_marked()

    def do_open_all(self) -> None:
        """Open or close all folds."""
        self._text.toggle_all()

    def do_next_block(self) -> None:
        """Mark the next fold or image."""
        self._text.go_spot(1)

    def do_previous_block(self) -> None:
        """Mark the previous fold or image."""
        self._text.go_spot(-1)

    def do_open_image(self) -> None:
        """Open the marked image, or the first one on the screen."""
        image = self._text.shown_image()
        if image is not None:
            self._open_image(image)

    def _open_image(self, image: ImagePart) -> None:
        browser = self._screen.browser
        subject = self._screen.subject
        assert subject is not None
        path = subject.path
        self._screen.lane("viewer", self.take_viewer).ask(
            lambda job: show_image(image.data, path, browser.temporary_copies, browser.options.environ)
        )

    def take_viewer(self, outcome: Outcome) -> None:
        """Say that the image is opened, or why it is not."""
        if outcome.error is not None:
            self._screen.browser.say(str(outcome.error), "warning")
        else:
            self._screen.browser.say(outcome.value)
