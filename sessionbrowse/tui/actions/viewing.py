"""Look closer at what stands beside the tree: folds and images."""

from __future__ import annotations

from sessionbrowse.tui.images import ImagePart
from sessionbrowse.tui.jobs import Job, Lane, Outcome
from sessionbrowse.tui.screens.base import CommandScreen
from sessionbrowse.tui.viewer import show_image
from sessionbrowse.tui.widgets.text_view import TextView


class Viewing:
    """The commands of a pane of text."""

    def __init__(self, screen: CommandScreen[None]) -> None:
        self._screen = screen
        self._lane = Lane("viewer", self._opened)

    @property
    def _text(self) -> TextView:
        return self._screen.query_one("#view", TextView)

    def do_open_marked(self) -> None:
        """Open or close the fold that is marked, or the image."""
        spot = self._text.spot
        if isinstance(spot, ImagePart):
            self._open_image(spot)
        else:
            self._text.toggle_spot()

    def do_open_block(self) -> None:
        """The same from the tree."""
        self.do_open_marked()

    def do_open_all(self) -> None:
        """Open or close all folds."""
        self._text.toggle_all()

    def do_next_block(self) -> None:
        """Mark the next fold or image."""
        self._text.go_spot(1)

    def do_previous_block(self) -> None:
        """Mark the fold or image before."""
        self._text.go_spot(-1)

    def do_open_image(self) -> None:
        """Open the marked image, or the first one shown."""
        image = self._text.shown_image()
        if image is not None:
            self._open_image(image)

    def _open_image(self, image: ImagePart) -> None:
        browser = self._screen.browser

        def work(job: Job) -> str:
            return show_image(image.data, browser.handed, browser.options.environ)

        self._lane.ask(work)

    def _opened(self, outcome: Outcome) -> None:
        browser = self._screen.browser
        said = str(outcome.error) if outcome.error is not None else str(outcome.value)
        browser.call_from_thread(browser.say, said, "warning" if outcome.error is not None else "information")
