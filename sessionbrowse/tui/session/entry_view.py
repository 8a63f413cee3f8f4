"""Commands for the entry beside the tree: its views, folds and images."""

from __future__ import annotations

from functools import partial

from sessionbrowse.tui.data.jobs import Outcome
from sessionbrowse.tui.layout.images import ImagePart
from sessionbrowse.tui.layout.parts import EntryLink
from sessionbrowse.tui.outside.viewer import show_image
from sessionbrowse.tui.session.screen import SessionScreen


def do_next_view(screen: SessionScreen) -> None:
    """Show the next view of the entry beside the tree: Entry, Context, Raw or Diff."""
    screen.entry_pane.turn(1)


def do_previous_view(screen: SessionScreen) -> None:
    """Show the previous view of the entry beside the tree: Entry, Context, Raw or Diff."""
    screen.entry_pane.turn(-1)


def do_open_marked(screen: SessionScreen) -> None:
    """Open or close the marked fold, open the marked image, or go to the entry of the marked link."""
    spot = screen.entry_pane.text.spot
    if isinstance(spot, EntryLink):
        screen.go_to_entry(spot.index)
        return
    if isinstance(spot, ImagePart):
        _open_image(screen, spot)
    else:
        screen.entry_pane.text.toggle_spot()


def do_open_block(screen: SessionScreen) -> None:
    """Open or close the marked fold while the tree has the focus."""
    do_open_marked(screen)


def do_open_all(screen: SessionScreen) -> None:
    """Open or close all folds in the view of the entry."""
    screen.entry_pane.text.toggle_all()


def do_next_block(screen: SessionScreen) -> None:
    """Mark the next fold or image in the view of the entry."""
    screen.entry_pane.text.go_spot(1)


def do_previous_block(screen: SessionScreen) -> None:
    """Mark the previous fold or image in the view of the entry."""
    screen.entry_pane.text.go_spot(-1)


def do_open_image(screen: SessionScreen) -> None:
    """Open the marked image, or the first one on the screen."""
    image = screen.entry_pane.text.shown_image()
    if image is not None:
        _open_image(screen, image)


def _open_image(screen: SessionScreen, image: ImagePart) -> None:
    browser = screen.browser
    path = screen.summary.path
    screen.lane("viewer", partial(_opened, screen)).ask(
        lambda job: show_image(image.data, path, browser.temporary_copies, browser.options.environ)
    )


def _opened(screen: SessionScreen, outcome: Outcome) -> None:
    """Show a toast that the image is opened, or the reason why not."""
    if outcome.error is not None:
        screen.browser.say(str(outcome.error), "warning")
    else:
        screen.browser.say(outcome.value)
