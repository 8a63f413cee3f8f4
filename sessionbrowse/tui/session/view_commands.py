"""Commands of the entry pane: switch views, compare branches, unfold long parts, open images."""

from __future__ import annotations

from functools import partial

from sessionbrowse.tui.data.jobs import Outcome
from sessionbrowse.tui.layout.images import ImagePart
from sessionbrowse.tui.layout.parts import EntryLink
from sessionbrowse.tui.outside.viewer import show_image
from sessionbrowse.tui.session.screen import SessionScreen


def do_next_view(screen: SessionScreen) -> None:
    """Switch the entry pane beside the tree to its next view: Entry, Context, Diff or Raw."""
    screen.entry_pane.turn(1)


def do_previous_view(screen: SessionScreen) -> None:
    """Switch the entry pane beside the tree to its previous view: Entry, Context, Diff or Raw."""
    screen.entry_pane.turn(-1)


def do_open_marked(screen: SessionScreen) -> None:
    """Act on the highlighted part of the entry pane: unfold or fold it, open an image, or follow a link."""
    spot = screen.entry_pane.text.spot
    if isinstance(spot, EntryLink):
        screen.go_to_entry(spot.index)
        return
    if isinstance(spot, ImagePart):
        _open_image(screen, spot)
    else:
        screen.entry_pane.text.toggle_spot()


def do_open_block(screen: SessionScreen) -> None:
    """Unfold or fold the highlighted part of the entry pane; works also while the tree has the focus."""
    do_open_marked(screen)


def do_open_all(screen: SessionScreen) -> None:
    """Unfold or fold all foldable parts in the entry pane."""
    screen.entry_pane.text.toggle_all()


def do_next_block(screen: SessionScreen) -> None:
    """Highlight the next foldable part, image or link in the entry pane."""
    screen.entry_pane.text.go_spot(1)


def do_previous_block(screen: SessionScreen) -> None:
    """Highlight the previous foldable part, image or link in the entry pane."""
    screen.entry_pane.text.go_spot(-1)


def do_open_image(screen: SessionScreen) -> None:
    """Open the highlighted image of the entry pane, or the first visible image, in an image viewer."""
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
    """Show a toast that the image was opened, or the reason why it cannot be opened."""
    if outcome.error is not None:
        screen.browser.say(str(outcome.error), "warning")
    else:
        screen.browser.say(outcome.value)


def do_compare(screen: SessionScreen) -> None:
    """Compare the branch of the entry under the cursor with the active branch, or the two selected entries."""
    selected = len(screen.tree_pane.row_list.marks)
    if selected > 2:
        screen.browser.say(f"{selected:,} entries are selected; two can be compared.", "warning")
        return
    screen.entry_pane.compare()
