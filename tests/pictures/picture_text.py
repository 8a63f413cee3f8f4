"""A picture of the screen as text that is compared: its characters, and below them which style stands where.

One text holds the picture in several themes: a style is what a cell has in all of them, named by the theme's
variable where there is one, so that a colour that is right has a word and a colour that is not has numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter

from msgspec import Struct
from rich.style import Style
from textual.color import Color
from textual.strip import Strip

Seen = tuple[str, str, str]
"""A colour, a background (`#rrggbb`, or "" where it cannot be seen or is the terminal's) and looks."""

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
    """What stands on the screen in one theme: the characters of each row, and for each how it is seen."""

    theme: str
    rows: list[tuple[str, list[Seen]]]
    colours: dict[str, str]


def frame(theme: str, strips: Sequence[Strip], variables: Mapping[str, str]) -> Frame:
    """Return what `strips` show; `variables` are those of the theme."""
    colours = {name: Color.parse(variables[name]).hex.lower() for name in NAMED if name in variables}
    return Frame(theme, [_row(strip) for strip in strips], colours)


def _row(strip: Strip) -> tuple[str, list[Seen]]:
    characters: list[str] = []
    row: list[Seen] = []
    for text, style, control in strip:
        if not control:
            seen = _seen(style or Style.null())
            _, background, looks = seen
            is_plain = _is_plain(looks)
            for character in text:
                # What a blank would look like if it were none cannot be seen: it goes on as what stands before it.
                if is_plain and character.isspace():
                    goes_on = row and row[-1][1] == background and _is_plain(row[-1][2])
                    row.append(row[-1] if goes_on else ("", background, ""))
                else:
                    row.append(seen)
            characters.append(text)
    return "".join(characters), row


@cache
def _is_plain(looks: str) -> bool:
    return not {"underline", "reverse", "strike"}.intersection(looks.split())


@cache
def _seen(style: Style) -> Seen:
    colour = style.color.get_truecolor().hex if style.color and not style.color.is_default else ""
    background = style.bgcolor.get_truecolor().hex if style.bgcolor and not style.bgcolor.is_default else ""
    return colour, background, " ".join(look for look in LOOKS if getattr(style, look))


def text_of(frames: Sequence[Frame]) -> str:
    """Return the picture: its rows, where each style stands, and what each style is."""
    names = _names(frames)
    styles: dict[tuple[Seen, ...], str] = {}
    letters: dict[str, str] = {}
    shown: list[str] = []
    runs: list[str] = []
    for rows in zip(*(one.rows for one in frames), strict=True):
        characters = {text for text, _ in rows}
        assert len(characters) == 1, f"The themes show other characters: {sorted(characters)}"
        shown.append(characters.pop().rstrip())
        lengths: list[tuple[str, int]] = []
        for seen, alike in groupby(zip(*(row for _, row in rows), strict=True)):
            style = styles.get(seen) or styles.setdefault(seen, _style(seen, names))
            lengths.append((letters.setdefault(style, _letter(len(letters))), len(list(alike))))
        runs.append(_runs(lengths))
    size = f"{len(frames[0].rows[0][1])} × {len(frames[0].rows)}, {', '.join(one.theme for one in frames)}"
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


def _style(seen: Sequence[Seen], names: Mapping[tuple[str, ...], str]) -> str:
    colours, backgrounds, looks = zip(*seen, strict=True)
    colour, background = _name(colours, names), _name(backgrounds, names)
    return f"{colour or 'blank'} on {background or 'default'} {'/'.join(sorted(set(looks)))}".rstrip()


def _name(colours: tuple[str, ...], names: Mapping[tuple[str, ...], str]) -> str:
    if not any(colours) or colours in names:
        return names.get(colours, "")
    return "/".join(colours)


def _letter(number: int) -> str:
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return alphabet[number] if number < 26 else alphabet[number // 26 - 1] + alphabet[number % 26]


def _runs(lengths: Iterable[tuple[str, int]]) -> str:
    """Write which letter goes on for how long; neighbours of one style are one run."""
    alike = groupby(lengths, key=itemgetter(0))
    return " ".join([f"{letter}{sum(length for _, length in run)}" for letter, run in alike])


def _numbered(runs: Sequence[str]) -> list[str]:
    """Put the number of the row before each, those that are alike together."""
    numbered: list[str] = []
    first = 0
    for at, row in enumerate(runs):
        if at + 1 == len(runs) or runs[at + 1] != row:
            numbered.append(f"{first + 1}{f'-{at + 1}' if at > first else ''}: {row}")
            first = at + 1
    return numbered
