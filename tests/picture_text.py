"""A picture of the screen as text that is compared: its characters, and below them which style stands where.

One text holds the picture in several themes: a style is what a cell has in all of them, named by the theme's
variable where there is one, so that a colour that is right has a word and a colour that is not has numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from rich.style import Style
from textual.color import Color
from textual.strip import Strip

Cell = tuple[str, str, str, str]
"""A character, its colour, its background (`#rrggbb`, or "" where it cannot be seen or is the terminal's) and looks."""

NAMED = (
    "foreground",
    "background",
    "surface",
    "panel",
    "primary",
    "secondary",
    "accent",
    "success",
    "warning",
    "error",
    "sb-dim",
    "sb-faint",
    "sb-border",
    "sb-cursor",
    "sb-cursor-text",
    "sb-cursor-blurred",
    "sb-cursor-blurred-text",
    "sb-selection",
    "scrollbar",
    "input-cursor-background",
    "input-cursor-foreground",
)
"""The variables of a theme that give colours their names; of two with the same colour the first."""

LOOKS = ("bold", "italic", "underline", "strike", "reverse", "dim")


class Frame(Struct, frozen=True):
    """What stands on the screen in one theme."""

    theme: str
    rows: list[list[Cell]]
    colours: dict[str, str]


def frame(theme: str, strips: Sequence[Strip], variables: Mapping[str, str]) -> Frame:
    """Return what `strips` show; `variables` are those of the theme."""
    colours = {name: Color.parse(variables[name]).hex.lower() for name in NAMED if name in variables}
    return Frame(theme, [_cells(strip) for strip in strips], colours)


def _cells(strip: Strip) -> list[Cell]:
    cells: list[Cell] = []
    for text, style, control in strip:
        if not control:
            colour, background, looks = _look(style or Style.null())
            for character in text:
                # What a blank would look like if it were none cannot be seen: it goes on as what stands before it.
                if character.isspace() and _is_plain(looks):
                    before = cells[-1] if cells else (" ", "", "", "")
                    goes_on = before[2] == background and _is_plain(before[3])
                    cells.append((character, *(before[1:] if goes_on else ("", background, ""))))
                else:
                    cells.append((character, colour, background, looks))
    return cells


def _is_plain(looks: str) -> bool:
    return not {"underline", "reverse", "strike"}.intersection(looks.split())


def _look(style: Style) -> tuple[str, str, str]:
    colour = style.color.get_truecolor().hex if style.color and not style.color.is_default else ""
    background = style.bgcolor.get_truecolor().hex if style.bgcolor and not style.bgcolor.is_default else ""
    return colour, background, " ".join(look for look in LOOKS if getattr(style, look))


def text_of(frames: Sequence[Frame]) -> str:
    """Return the picture: its rows, where each style stands, and what each style is."""
    names = _names(frames)
    letters: dict[str, str] = {}
    shown: list[str] = []
    runs: list[str] = []
    for rows in zip(*(one.rows for one in frames), strict=True):
        characters = {"".join(cell[0] for cell in row) for row in rows}
        assert len(characters) == 1, f"The themes show other characters: {sorted(characters)}"
        shown.append(characters.pop().rstrip())
        styles = [_style(cells, names) for cells in zip(*rows, strict=True)]
        runs.append(_runs([letters.setdefault(style, _letter(len(letters))) for style in styles]))
    size = f"{len(frames[0].rows[0])} × {len(frames[0].rows)}, {', '.join(one.theme for one in frames)}"
    legend = [f"{letter} {style}" for style, letter in letters.items()]
    return "\n".join([size, *shown, "", *_numbered(runs), "", *legend, ""])


def colours_of(frames: Sequence[Frame]) -> str:
    """Return the table of the named colours: a row for each name, a column for each theme."""
    rows = [f"{'':24}" + "".join(f"{one.theme:16}" for one in frames)]
    for name in NAMED:
        rows.append(f"{name:24}" + "".join(f"{one.colours.get(name, ''):16}" for one in frames))
    return "\n".join([row.rstrip() for row in rows]) + "\n"


def _names(frames: Sequence[Frame]) -> dict[tuple[str, ...], str]:
    names: dict[tuple[str, ...], str] = {}
    for name in NAMED:
        names.setdefault(tuple([one.colours.get(name, "") for one in frames]), name)
    return names


def _style(cells: Sequence[Cell], names: Mapping[tuple[str, ...], str]) -> str:
    looks = {cell[3] for cell in cells}
    colour, background = (_name(tuple([cell[at] for cell in cells]), names) for at in (1, 2))
    return f"{colour or 'blank'} on {background or 'default'} {'/'.join(sorted(looks))}".rstrip()


def _name(colours: tuple[str, ...], names: Mapping[tuple[str, ...], str]) -> str:
    if not any(colours) or colours in names:
        return names.get(colours, "")
    return "/".join(colours)


def _letter(number: int) -> str:
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return alphabet[number] if number < 26 else alphabet[number // 26 - 1] + alphabet[number % 26]


def _runs(letters: Sequence[str]) -> str:
    runs: list[tuple[str, int]] = []
    for letter in letters:
        if runs and runs[-1][0] == letter:
            runs[-1] = (letter, runs[-1][1] + 1)
        else:
            runs.append((letter, 1))
    return " ".join([f"{letter}{count}" for letter, count in runs])


def _numbered(runs: Sequence[str]) -> list[str]:
    """Put the number of the row before each, those that are alike together."""
    numbered: list[str] = []
    first = 0
    for at, row in enumerate(runs):
        if at + 1 == len(runs) or runs[at + 1] != row:
            numbered.append(f"{first + 1}{f'-{at + 1}' if at > first else ''}: {row}")
            first = at + 1
    return numbered
