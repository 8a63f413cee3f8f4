"""Commands for the entry beside the tree: its views, folds and images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.tui.outside.viewer import show_image
from sessionbrowse.tui.reading.images import ImagePart
from sessionbrowse.tui.session.entry_pane import EntryPane
from sessionbrowse.tui.shell.browser import Browser
from sessionbrowse.tui.shell.jobs import Lane, Outcome
from sessionbrowse.tui.widgets.text_view import TextView


class HasEntry(Protocol):
    """A screen with an entry beside its tree, as these commands know it."""

    summary: Summary
    entry_pane: EntryPane

    @property
    def browser(self) -> Browser:
        """The app."""

    def lane(self, name: str, take: Callable[[Outcome], object] | None = None) -> Lane:
        """Return a lane of background work whose outcomes go to `take`."""


class EntryView:
    """Commands that choose the view, open and close folds, and open images."""

    def __init__(self, screen: HasEntry) -> None:
        self._screen = screen

    @property
    def _text(self) -> TextView:
        return self._screen.entry_pane.text

    def do_next_view(self) -> None:
        """Show the next view."""
        self._screen.entry_pane.turn(1)

    def do_previous_view(self) -> None:
        """Show the previous view."""
        self._screen.entry_pane.turn(-1)

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
        path = self._screen.summary.path
        self._screen.lane("viewer", self.take_viewer).ask(
            lambda job: show_image(image.data, path, browser.temporary_copies, browser.options.environ)
        )

    def take_viewer(self, outcome: Outcome) -> None:
        """Say that the image is opened, or why it is not."""
        if outcome.error is not None:
            self._screen.browser.say(str(outcome.error), "warning")
        else:
            self._screen.browser.say(outcome.value)
