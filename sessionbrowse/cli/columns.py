"""Choose the widths of a table's columns for the width of the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from sessionbrowse.text import truncate

_MOST_COLUMNS, _LEAST_COLUMNS = 40, 8
"""Maximum width of a column: 40 cells; on a narrow terminal it is reduced step by step, down to 8."""
_TEXT_COLUMNS = 24
"""Minimum width of the stretched column, which gets all remaining width; less if its longest text is shorter."""
GAP_COLUMNS = 2


def last_part(path: str) -> str:
    """Return the last component of a POSIX or Windows path, such as a project's name."""
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2]


def end_of_path(path: str, cells: int) -> str:
    """Shorten a path to `cells` terminal cells: the directories above the last component are dropped first."""
    from rich.cells import cell_len

    name = last_part(path)
    for shown in (path, f"…/{name}", name):
        if cell_len(shown) <= cells:
            return shown
    return truncate(name, cells)


def fitted(
    widest: Sequence[int],
    stretch: int,
    spare: Sequence[int],
    columns: int,
    kept: int | None = None,
    least: int = 0,
) -> dict[int, int]:
    """Choose the columns of a table that fit on the terminal; return their widths, by column number.

    `widest` are the widths of the longest texts, and `columns` is the width of the terminal. The columns `spare` are
    dropped, in this order, until the others fit. The width of the column `stretch` is its minimum; the table may widen
    the column. The column `kept` is not made narrower than `least` cells.
    """
    cut = shown = dict(enumerate(widest))
    shown[stretch] = min(widest[stretch], _TEXT_COLUMNS)
    for left_out in (None, *spare):
        shown = {number: width for number, width in shown.items() if number != left_out}
        for most in range(_MOST_COLUMNS, _LEAST_COLUMNS - 1, -1):
            cut = {number: width if number == stretch else min(width, most) for number, width in shown.items()}
            if kept is not None and kept in cut:
                cut[kept] = min(widest[kept], max(cut[kept], least))
            if sum(cut.values()) + GAP_COLUMNS * (len(cut) - 1) <= columns:
                return cut
    return cut
