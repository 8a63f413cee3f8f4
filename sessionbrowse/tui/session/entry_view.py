"""Look closer at what stands beside the tree: folds, images, two branches compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessionbrowse.tui.outside.viewer import show_image
from sessionbrowse.tui.reading.images import ImagePart
from sessionbrowse.tui.shell.jobs import Job, Outcome
from sessionbrowse.tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from sessionbrowse.tui.session.screen import SessionScreen


class Viewing:
    """The commands of a pane of text."""

    def __init__(self, screen: SessionScreen) -> None:
        self._screen = screen

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
        browser, path = self._screen.browser, self._screen.summary.path

        def work(job: Job) -> str:
            return show_image(image.data, path, browser.handed, browser.options.environ)

        self._screen.lane("viewer").ask(work)

    def take_viewer(self, outcome: Outcome) -> None:
        """Say that the image is opened, or why it is not."""
        if outcome.error is not None:
            self._screen.browser.say(str(outcome.error), "warning")
        else:
            self._screen.browser.say(outcome.value)

    # -- comparing ----------------------------------------------------------------------------------------------

    def do_compare(self) -> None:
        """Mark the entry, or compare it with the marked one; on the marked one take the mark away."""
        screen = self._screen
        if screen.index is None:
            return
        if screen.marked is None:
            screen.mark(screen.index)
            keys = screen.browser.keys.key_of
            screen.browser.say(
                f"Marked. Go to another entry: {keys('compare')} there compares the two branches. "
                f"{keys('compare')} here takes the mark away."
            )
        elif screen.marked == screen.index:
            screen.mark(None)
            screen.show_view("entry" if screen.view == "diff" else screen.view)
        else:
            screen.show_view("diff")

    def do_compare_leaf(self) -> None:
        """Compare the entry with the leaf."""
        self._screen.mark(None)
        self._screen.show_view("diff")
