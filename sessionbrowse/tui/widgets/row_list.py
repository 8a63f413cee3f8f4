"""The list widget of all screens, for projects, sessions, tree entries and commands.

The list stores only the keys (identifiers) of its rows and a cursor. The text of a row is made when the row is painted,
so a hundred thousand rows can be replaced quickly.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar

from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.widgets.span_view import RowsView

GUTTER = 2
"""Number of cells before the text of every row: one for the cursor's bar, one for the sign of marked rows."""


RenderRow = Callable[[int, int], Line]
"""A function that returns a row's styled text; arguments: the row's index, the maximum width in cells."""


class RowMessage(Message):
    """Base class of the messages of a list; contains index and key (identifier) of the row under the list's cursor."""

    def __init__(self, row_list: RowList) -> None:
        super().__init__()
        self.row_list = row_list
        self.index = row_list.cursor
        self.key = row_list.key

    @property
    def control(self) -> RowList:
        """The list that sent the message; Textual compares it with the selector in `@on(…, selector)`."""
        return self.row_list


class RowList(RowsView, can_focus=True):
    """A list of rows with a cursor; once moved by the user, the cursor follows its row when rows are replaced."""

    ALLOW_SELECT = False
    MARGIN: ClassVar[int] = 2

    cursor: reactive[int] = reactive(0, repaint=False)

    class Highlighted(RowMessage):
        """Message: another row is under the cursor; `key` identifies it, or is None if the list has no rows."""

        def can_replace(self, message: Message) -> bool:
            """Return True if Textual may drop the waiting `message` for this one: both are from the same list."""
            return isinstance(message, RowList.Highlighted) and message.row_list is self.row_list

    class Entered(RowMessage):
        """Message: the user double-clicked a row to open it."""

    class Marked(RowMessage):
        """Message: the user marked or unmarked rows."""

    def __init__(
        self,
        render_row: RenderRow,
        *,
        showing: Callable[[range], object] | None = None,
        wraps: bool = False,
        marked_as: Callable[[Hashable], Hashable] = lambda key: key,
        empty: str = "",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """Create a list without rows.

        The list calls `showing` with the range of visible row indexes before it paints these rows. If `wraps`, `go_up`
        on the first row moves to the last row, and `go_down` on the last row to the first. `marked_as` maps a row's key
        to the key that is marked for it, such as a session's key for the row of a hit in it.
        """
        super().__init__(empty=empty, id=id, classes=classes)
        self._render_row = render_row
        self._showing = showing
        self._wraps = wraps
        self._marked_as = marked_as
        self._keys: Sequence[Hashable] = ()
        self._stops: Sequence[int] | None = None
        self._announced: Hashable | None = None
        self.was_moved = False
        """True if the user has moved the cursor; else it keeps its row number when rows are replaced."""
        self.marks: set[Hashable] = set()
        # For marking a range of rows: the key of the row where the range starts, and the keys of the rows that were
        # marked before.
        self._anchor: Hashable | None = None
        self._marks_before: set[Hashable] = set()
        self.marks_range = False
        self.has_keys = False

    @property
    def looks_focused(self) -> bool:
        """True if the movement keys act on this list, because the list or its text field (filter) has the focus."""
        return self.has_focus or self.has_keys

    def lend_keys(self, lent: bool) -> None:
        """Set whether a focused text field passes its movement keys to this list, which then looks focused."""
        if lent != self.has_keys:
            self.has_keys = lent
            self.set_class(lent, "-has-keys")
            self.refresh()

    # -- rows ---------------------------------------------------------------------------------------------------

    @property
    def keys(self) -> Sequence[Hashable]:
        """The keys (identifiers) of all rows, from top to bottom."""
        return self._keys

    @property
    def visible_keys(self) -> Sequence[Hashable]:
        """The keys (identifiers) of the rows that are in sight; none if the list is hidden."""
        top = self.scroll_offset.y
        return self._keys[top : top + self.size.height] if self.display else ()

    @property
    def count(self) -> int:
        """The number of rows in the list."""
        return len(self._keys)

    @property
    def key(self) -> Hashable | None:
        """The key (identifier) of the row under the cursor; None if the list has no rows."""
        return self._keys[self.cursor] if self._keys else None

    def set_rows(
        self,
        keys: Sequence[Hashable],
        *,
        cursor: Hashable | None = None,
        empty: str | None = None,
        stops: Sequence[int] | None = None,
    ) -> None:
        """Replace all rows, and move the cursor to the row with the key `cursor` if there is one.

        Else a cursor that the user moved follows its row. If the user has not moved the cursor, or if its row is gone,
        the cursor keeps its row number. `stops` are the sorted indexes of the only rows on which the cursor may stand;
        None means all rows.
        """
        self._stops = stops
        offset = self.cursor - self.scroll_offset.y
        target = self._target(keys, cursor)
        if empty is not None:
            self.empty = empty
        self._keys = keys
        if self.marks_range and self._anchor not in keys:
            # The row where the range of marked rows starts is gone, so moving the cursor must no longer mark rows.
            self.marks_range, self._anchor = False, None
        self.set_height(len(keys))
        self.set_reactive(RowList.cursor, target)
        if self.size.height:
            self._show_cursor(target - offset if 0 <= offset < self.size.height else None)
            self._tell_visible()
        self.refresh()
        self._announce()

    @property
    def room_around(self) -> tuple[int, int]:
        """The numbers of visible rows above the cursor and from it down, each plus `MARGIN`, as the list may scroll."""
        above = self.cursor - self.scroll_offset.y
        return above + self.MARGIN, max(0, self.size.height - above) + self.MARGIN

    def _target(self, keys: Sequence[Hashable], wanted: Hashable | None) -> int:
        if not keys:
            return 0
        candidates = [wanted] if wanted is not None else []
        # A cursor that the user has not moved keeps its row number, so it stays on the first row.
        if self.was_moved and self._keys:
            candidates.append(self.key)
        for candidate in candidates:
            try:
                return keys.index(candidate)
            except ValueError:
                continue
        return min(self.cursor, len(keys) - 1)

    def _announce(self) -> None:
        key = self.key
        if key != self._announced:
            self._announced = key
            # The message is posted directly to the screen. If it bubbled up through the panes, the header and footer
            # would be updated one frame later.
            (self.screen if self.is_attached else self).post_message(self.Highlighted(self))

    # -- moving -------------------------------------------------------------------------------------------------

    def move(self, delta: int, *, wrap: bool = False) -> None:
        """Move the cursor down by `delta` rows, or up if negative; with `wrap`, the first row follows the last row."""
        stops = range(self.count) if self._stops is None else self._stops
        if not stops:
            return
        at = (bisect_left(stops, self.cursor) if delta < 0 else bisect_right(stops, self.cursor) - 1) + delta
        self.go(stops[at % len(stops) if wrap else max(0, min(at, len(stops) - 1))])

    def go(self, index: int) -> None:
        """Move the cursor to the row at `index`, or to the first or last row if `index` is out of range.

        If the cursor may not stand on that row, move it to the next one in the direction of the movement.
        """
        self.was_moved = True
        if self._stops:
            at = bisect_left(self._stops, index) if index > self.cursor else bisect_right(self._stops, index) - 1
            index = self._stops[max(0, min(at, len(self._stops) - 1))]
        self.cursor = index
        if self.marks_range:
            self._mark_to_cursor()
        else:
            self._anchor = None

    def go_to_key(self, key: Hashable) -> bool:
        """Move the cursor to the row with this key; return False if the list has no such row."""
        try:
            self.go(self._keys.index(key))
        except ValueError:
            return False
        return True

    def go_up(self) -> None:
        """Move the cursor to the row above."""
        self.move(-1, wrap=self._wraps)

    def go_down(self) -> None:
        """Move the cursor to the row below."""
        self.move(1, wrap=self._wraps)

    def go_first(self) -> None:
        """Move the cursor to the first row."""
        self.go(0)

    def go_last(self) -> None:
        """Move the cursor to the last row."""
        self.go(self.count - 1)

    # -- marking ------------------------------------------------------------------------------------------------

    def toggle_mark(self) -> None:
        """Mark or unmark the row under the cursor."""
        if self._keys:
            self.marks_range = False
            self._set_marks(self.marks ^ {self._marked_as(self.key)})

    def mark_and_go_down(self) -> None:
        """Mark the row under the cursor, or remove its mark, and move the cursor to the next row."""
        self.toggle_mark()
        self.move(1)

    def mark_by_moving(self, delta: int) -> None:
        """Move the cursor by `delta` rows, and mark all rows from the row where marking began to the cursor."""
        if not self._keys:
            return
        if self._anchor is None:
            self._begin_range()
        self.marks_range, was_range = True, self.marks_range
        self.move(delta)
        self.marks_range = was_range

    def toggle_range(self) -> None:
        """Start or stop range marking: while it is on, every row that the cursor passes is marked."""
        self.marks_range = not self.marks_range and bool(self._keys)
        if self.marks_range:
            self._begin_range()
            self._mark_to_cursor()
        else:
            self._anchor = None
            self.post_message(self.Marked(self))

    def mark_all(self) -> None:
        """Mark every row of the list; if all rows are marked, unmark them."""
        self.marks_range = False
        keys = {*map(self._marked_as, self._keys)}
        self._set_marks(self.marks - keys if self.marks.issuperset(keys) else self.marks | keys)

    def clear_marks(self) -> None:
        """Unmark all rows."""
        self.marks_range = False
        self._set_marks(set())

    def _begin_range(self) -> None:
        self._anchor = self.key
        self._marks_before = set(self.marks)

    def _mark_to_cursor(self) -> None:
        try:
            start = self._keys.index(self._anchor)
        except ValueError:
            start = self.cursor
        first, last = sorted((start, self.cursor))
        self._set_marks(self._marks_before | {*map(self._marked_as, self._keys[first : last + 1])})

    def _set_marks(self, marks: set[Hashable]) -> None:
        self.marks = marks
        self.refresh()
        self.post_message(self.Marked(self))

    def validate_cursor(self, cursor: int) -> int:
        """Return the cursor's new row number, limited to the existing rows; Textual calls this validator."""
        return max(0, min(cursor, len(self._keys) - 1))

    def watch_cursor(self, old: int, new: int) -> None:
        """Scroll so that the cursor is visible, and post the message `Highlighted`."""
        if not self._show_cursor():
            # If the list did not scroll, only the old and the new row of the cursor need repainting.
            self.refresh_line(old)
            self.refresh_line(new)
        self._announce()

    def _show_cursor(self, preferred_top: int | None = None) -> bool:
        """Scroll as little as needed to make the cursor visible; return True if the list scrolled."""
        height = self.size.height
        if not height:
            return False
        margin = min(self.MARGIN, (height - 1) // 2)
        top = self.scroll_offset.y if preferred_top is None else preferred_top
        top = min(top, self.cursor - margin)
        top = max(top, self.cursor + margin - height + 1)
        top = max(0, min(top, self.count - height))
        if top == self.scroll_offset.y:
            return False
        self.scroll_to(y=top, animate=False, force=True)
        return True

    # -- events and drawing -------------------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        """Keep the cursor visible when the size changes."""
        self._show_cursor()
        self._tell_visible()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Call the function `showing` with the indexes of the rows that are visible after scrolling."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self._tell_visible()

    def _tell_visible(self) -> None:
        if self._showing is not None and self._keys:
            top = round(self.scroll_y)
            self._showing(range(top, top + self.size.height))

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row; a double click opens the row, Ctrl+click marks it."""
        offset = event.get_content_offset(self)
        if offset is None or event.button != 1:
            return
        index = self.scroll_offset.y + offset.y
        if index >= self.count:
            return
        event.stop()
        self.go(index)
        if event.ctrl:
            self.toggle_mark()
        elif event.chain == 2:
            self.post_message(self.Entered(self))

    def render_line(self, y: int) -> Strip:
        """Return the cells of the visible row number `y`, counted from the top of the widget."""
        width = self.room
        index = self.scroll_offset.y + y
        if index >= self.count:
            return self.render_empty(y, width) if not self._keys else self.paint([], width)
        at_cursor = index == self.cursor
        marked = self._keys[index] in self.marks
        focused = self.looks_focused
        line: Line = [
            (("▌" if focused else "▏") if at_cursor else " ", "key" if focused else "faint"),
            ("✓" if marked else " ", "accent"),
            *self._render_row(index, max(0, width - GUTTER)),
        ]
        over = ("cursor" if focused else "cursor-blurred") if at_cursor else "mark" if marked else ""
        return self.paint(line, width, over)
