"""The widths of a table's columns on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from sessionbrowse.text import truncate

_MOST_COLUMNS, _LEAST_COLUMNS = 40, 8
"""Maximum width of a table's columns: 40, and on a narrow terminal less, down to 8."""
_TEXT_COLUMNS = 24
"""One column of a table gets the width that the others leave; it is at least this wide, or as wide as its texts."""
GAP_COLUMNS = 2


def last_part(path: str) -> str:
    """Return the last part of a path of any system, such as a project's name."""
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2]


def end_of_path(path: str, cells: int) -> str:
    """Return a path in at most `cells` cells; its last part, the project's name, is cut last."""
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

    For the column `stretch` the minimum width is returned; the table may widen the column. The column `kept` gets at
    least `least` columns.
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
