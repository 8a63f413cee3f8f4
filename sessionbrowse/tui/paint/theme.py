"""The colours of the interface: sessionbrowse's own themes, and CSS variables such as `sb-cursor` for all themes.

Only this module contains colour values; CSS files and widgets use variables. Textual's themes do not define
sessionbrowse's variables; their values are mixed from the theme's foreground, background and primary colours.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from rich.color import Color as RichColor
from rich.color import ColorSystem
from rich.style import Style
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

DARK, LIGHT = "sessionbrowse-dark", "sessionbrowse-light"
HIGH_CONTRAST, TERMINAL = "sessionbrowse-high-contrast", "sessionbrowse-terminal"
NAMES = {"dark": DARK, "light": LIGHT, "high-contrast": HIGH_CONTRAST, "ansi": TERMINAL}
"""Maps the names of sessionbrowse's themes in the settings file to the names that Textual has for them."""

_COLOURS = """
    primary                      #7fb0f5      #2a62c4      #5ce1ff   ansi_blue
    secondary                    #b9a5f2      #7648b8      #ff9dff   ansi_magenta
    accent                       #eebb77      #a85a00      #ffd23f   ansi_yellow
    success                      #93cf96      #2b7a3d      #6dff7a   ansi_green
    warning                      #e5c76b      #876500      #ffe94d   ansi_yellow
    error                        #f07f92      #b52a48      #ff7b7b   ansi_red
    foreground                   #d3d8e4      #2b3040      #ffffff   ansi_default
    background                   #14161c      #fcfbf8      #000000   ansi_default
    surface                      #191c24      #f6f4ef      #000000   ansi_default
    panel                        #20242e      #ebe8e0      #1c1c1c   ansi_default
    sb-dim                       #8b93a7      #646b7c      #d4d4d4   -
    sb-faint                     #6a7288      #868a96      #a8a8a8   -
    sb-border                    #3a4050      #cdc9be      #b0b0b0   -
    sb-cursor                    #2b3448      #dbe6fa      #ffe94d   -
    sb-cursor-text               -            -            #000000   -
    sb-cursor-blurred            #222732      #eceae4      #5a5a5a   -
    sb-cursor-blurred-text       -            -            #ffffff   -
    sb-match-background          -            -            #5ce1ff   -
    scrollbar                    #3a4050      #cdc9be      #b0b0b0   ansi_bright_black
    scrollbar-hover              #4a5266      #b5b1a6      #ffffff   ansi_default
    scrollbar-active             #7fb0f5      #2a62c4      #ffffff   ansi_blue
    input-selection-background   #7fb0f5:35%  #2a62c4:25%  -         ansi_blue
    input-selection-foreground   -            -            -         ansi_default
    input-cursor-background      -            -            -         ansi_default
    input-cursor-foreground      -            -            -         ansi_default
    input-cursor-text-style      -            -            -         reverse
    screen-selection-background  -            -            -         ansi_blue
    screen-selection-foreground  -            -            -         ansi_default
    ansi-background              -            -            -         ansi_default
    ansi-foreground              -            -            -         ansi_default
    border-blurred               -            -            -         ansi_bright_black
    block-cursor-foreground      -            -            -         ansi_default
    block-cursor-background      -            -            -         ansi_bright_black
    sb-dim-style                 -            -            -         dim
    scrollbar-corner-color       -            -            -         ansi_default
"""
"""The colours of sessionbrowse's themes, a column for each theme in the order of `NAMES`; `-` leaves a variable out.

A percentage after a colour is its opacity. The rows down to `panel` are the colours that a theme of Textual has, the
others CSS variables. The theme of the terminal's own colours also sets variables that Textual would mix from others.
"""
_OF_TEXTUAL = 10


def _theme(number: int, name: str) -> Theme:
    rows = [line.split() for line in _COLOURS.strip().splitlines()]
    colours: dict[str, Any] = {row[0]: row[number] for row in rows[:_OF_TEXTUAL]}
    variables = {row[0]: row[number].replace(":", " ") for row in rows[_OF_TEXTUAL:] if row[number] != "-"}
    # Textual draws the bar behind the thumb in another colour while the mouse is over it; here it never changes.
    variables |= {f"scrollbar-background{state}": colours["background"] for state in ("", "-hover", "-active")}
    is_terminal = name == TERMINAL
    boost = "ansi_default" if is_terminal else None
    return Theme(name=name, ansi=is_terminal, dark=name != LIGHT, boost=boost, variables=variables, **colours)


THEMES = tuple([_theme(number, name) for number, name in enumerate(NAMES.values(), 1)])
AVAILABLE = {**BUILTIN_THEMES, **{own.name: own for own in THEMES}}
"""Textual's themes and sessionbrowse's own themes, by name."""


def fitting(name: str, colors: ColorSystem) -> str:
    """Return the theme to use in place of the theme `name` in a terminal with few colours.

    With 16 colours, which differ in each terminal, mixed colours would be lost, and the row under the cursor with them.
    """
    return TERMINAL if colors in (ColorSystem.STANDARD, ColorSystem.WINDOWS) else name


def textual_name(wanted: str) -> str | None:
    """Return the name with which Textual identifies a theme named in the settings; None if there is no such theme."""
    name = NAMES.get(wanted, wanted)
    return name if name in AVAILABLE else None


RECOVERERS: dict[str, tuple[str, str, str]] = {
    "dim": ("sb-dim", "", "sb-dim-style"),
    "faint": ("sb-faint", "", ""),
    "strong": ("", "", "bold"),
    "italic": ("", "", "italic"),
    "underline": ("", "", "underline"),
    "strike": ("", "", "strike"),
    "link": ("primary", "", "underline"),
    "title": ("foreground", "", "bold"),
    "accent": ("accent", "", ""),
    "key": ("primary", "", "bold"),
    "good": ("success", "", ""),
    "warning": ("warning", "", ""),
    "error": ("error", "", ""),
    "user": ("accent", "", ""),
    "assistant": ("primary", "", ""),
    "tool": ("success", "", ""),
    "thinking": ("sb-dim", "", "italic"),
    "note": ("secondary", "", ""),
    "label": ("warning", "", ""),
    "branch": ("secondary", "", ""),
    "code": ("secondary", "", ""),
    "inline-code": ("secondary", "", "bold"),
    "name": ("primary", "", ""),
    "string": ("success", "", ""),
    "number": ("accent", "", ""),
    "keyword": ("secondary", "", ""),
    "match": ("sb-match", "sb-match-background", ""),
    "rule": ("sb-border", "", ""),
    "pi": ("primary", "", ""),
    "omp": ("accent", "", ""),
    "atomic": ("secondary", "", ""),
    "indusagi": ("success", "", ""),
    "claude": ("warning", "", ""),
    "codex": ("primary", "", ""),
    "cursor": ("sb-cursor-text", "sb-cursor", "sb-cursor-style"),
    "cursor-blurred": ("sb-cursor-blurred-text", "sb-cursor-blurred", "sb-cursor-blurred-style"),
    "mark": ("", "sb-cursor-blurred", ""),
    "selection": ("", "sb-selection", ""),
}
"""The look of each role (style name): the variable of its colour, the variable of its background, and its text style.

The text style is a Rich style such as `bold`, or the name of a CSS variable that contains a Rich style.
"""

_PLAIN = {
    "sb-dim-style": "none",
    "sb-cursor-text": "transparent",
    "sb-cursor-style": "none",
    "sb-cursor-blurred-text": "transparent",
    "sb-cursor-blurred-style": "none",
}


def role_styles(variables: dict[str, str]) -> dict[str, Style]:
    """Return the Rich style of each role (style name) for a theme's variables; missing variables are computed."""
    return _role_styles(tuple(variables.items()))


@lru_cache(maxsize=4)
def _role_styles(given: tuple[tuple[str, str], ...]) -> dict[str, Style]:
    # The styles are cached because every widget computes the styles of the same theme.
    variables = dict(given)
    variables = {**missing_variables(variables), **variables}
    return {
        role: Style(color=_rich_color(variables, colour), bgcolor=_rich_color(variables, background))
        + Style.parse(variables.get(style, style) or "none")
        for role, (colour, background, style) in RECOVERERS.items()
    }


def _rich_color(variables: dict[str, str], name: str) -> RichColor | None:
    if not name:
        return None
    color = Color.parse(variables[name])
    # A transparent colour in a theme means that the role does not change the colour of the text.
    return color.rich_color if color.a > 0 else None


def missing_variables(variables: dict[str, str]) -> dict[str, str]:
    """Return values for sessionbrowse's own CSS variables, mixed from a theme's colours.

    Themes that do not define these variables, such as Textual's, get these values.
    """
    background = Color.parse(variables["background"])
    foreground = Color.parse(variables["foreground"])
    primary = Color.parse(variables["primary"])
    if background.ansi is not None or foreground.ansi is not None:
        return {
            **_PLAIN,
            "sb-dim": "ansi_default",
            "sb-faint": "ansi_bright_black",
            "sb-border": "ansi_bright_black",
            "sb-cursor": "ansi_default",
            "sb-cursor-text": "ansi_default",
            "sb-cursor-style": "reverse",
            "sb-cursor-blurred": "ansi_default",
            "sb-cursor-blurred-style": "underline",
            "sb-selection": "ansi_bright_black",
            "sb-match": "ansi_black",
            "sb-match-background": "ansi_yellow",
        }
    return {
        **_PLAIN,
        "sb-dim": background.blend(foreground, 0.6, alpha=1).hex,
        "sb-faint": background.blend(foreground, 0.35, alpha=1).hex,
        "sb-border": background.blend(foreground, 0.22, alpha=1).hex,
        "sb-cursor": background.blend(primary, 0.25, alpha=1).hex,
        "sb-cursor-blurred": background.blend(foreground, 0.1, alpha=1).hex,
        "sb-selection": background.blend(primary, 0.4, alpha=1).hex,
        "sb-match": variables["background"],
        "sb-match-background": variables["warning"],
    }
