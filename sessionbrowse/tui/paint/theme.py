"""The colours of the interface: sessionbrowse's own themes, and CSS variables such as `sb-cursor` for all themes.

Only this module contains colour values; CSS files and widgets use variables. Textual's themes do not define
sessionbrowse's variables; their values are mixed from the theme's foreground, background and primary colours.
"""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color as RichColor
from rich.color import ColorSystem
from rich.style import Style
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

DARK = "sessionbrowse-dark"
LIGHT = "sessionbrowse-light"
HIGH_CONTRAST = "sessionbrowse-high-contrast"
TERMINAL = "sessionbrowse-terminal"

NAMES = {"dark": DARK, "light": LIGHT, "high-contrast": HIGH_CONTRAST, "ansi": TERMINAL}
"""Maps the names of sessionbrowse's themes in the settings file to the names that Textual has for them."""


def _scroll_bar(thumb: str, hovered: str, dragged: str, background: str) -> dict[str, str]:
    """Return a theme's variables for scroll bars: colours of the thumb (also hovered, dragged) and the background."""
    colours = {"scrollbar": thumb, "scrollbar-hover": hovered, "scrollbar-active": dragged}
    return colours | {f"scrollbar-background{state}": background for state in ("", "-hover", "-active")}


THEMES = (
    Theme(
        name=DARK,
        primary="#7fb0f5",
        secondary="#b9a5f2",
        accent="#eebb77",
        success="#93cf96",
        warning="#e5c76b",
        error="#f07f92",
        foreground="#d3d8e4",
        background="#14161c",
        surface="#191c24",
        panel="#20242e",
        dark=True,
        variables={
            "sb-dim": "#8b93a7",
            "sb-faint": "#6a7288",
            "sb-border": "#3a4050",
            "sb-cursor": "#2b3448",
            "sb-cursor-blurred": "#222732",
            **_scroll_bar("#3a4050", "#4a5266", "#7fb0f5", "#14161c"),
            "input-selection-background": "#7fb0f5 35%",
        },
    ),
    Theme(
        name=LIGHT,
        primary="#2a62c4",
        secondary="#7648b8",
        accent="#a85a00",
        success="#2b7a3d",
        warning="#876500",
        error="#b52a48",
        foreground="#2b3040",
        background="#fcfbf8",
        surface="#f6f4ef",
        panel="#ebe8e0",
        dark=False,
        variables={
            "sb-dim": "#646b7c",
            "sb-faint": "#868a96",
            "sb-border": "#cdc9be",
            "sb-cursor": "#dbe6fa",
            "sb-cursor-blurred": "#eceae4",
            **_scroll_bar("#cdc9be", "#b5b1a6", "#2a62c4", "#fcfbf8"),
            "input-selection-background": "#2a62c4 25%",
        },
    ),
    Theme(
        name=HIGH_CONTRAST,
        primary="#5ce1ff",
        secondary="#ff9dff",
        accent="#ffd23f",
        success="#6dff7a",
        warning="#ffe94d",
        error="#ff7b7b",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#1c1c1c",
        dark=True,
        variables={
            "sb-dim": "#d4d4d4",
            "sb-faint": "#a8a8a8",
            "sb-border": "#b0b0b0",
            "sb-cursor": "#ffe94d",
            "sb-cursor-text": "#000000",
            "sb-cursor-blurred": "#5a5a5a",
            "sb-cursor-blurred-text": "#ffffff",
            # In this theme the cursor's row is yellow, so search matches need another background colour.
            "sb-match-background": "#5ce1ff",
            **_scroll_bar("#b0b0b0", "#ffffff", "#ffffff", "#000000"),
        },
    ),
    Theme(
        name=TERMINAL,
        ansi=True,
        primary="ansi_blue",
        secondary="ansi_magenta",
        accent="ansi_yellow",
        success="ansi_green",
        warning="ansi_yellow",
        error="ansi_red",
        foreground="ansi_default",
        background="ansi_default",
        surface="ansi_default",
        panel="ansi_default",
        boost="ansi_default",
        dark=True,
        variables={
            "ansi-background": "ansi_default",
            "ansi-foreground": "ansi_default",
            "border-blurred": "ansi_bright_black",
            "block-cursor-foreground": "ansi_default",
            "block-cursor-background": "ansi_bright_black",
            "sb-dim-style": "dim",
            "input-cursor-background": "ansi_default",
            "input-cursor-foreground": "ansi_default",
            "input-cursor-text-style": "reverse",
            "input-selection-background": "ansi_blue",
            "input-selection-foreground": "ansi_default",
            "screen-selection-background": "ansi_blue",
            "screen-selection-foreground": "ansi_default",
            **_scroll_bar("ansi_bright_black", "ansi_default", "ansi_blue", "ansi_default"),
            "scrollbar-corner-color": "ansi_default",
        },
    ),
)

AVAILABLE = {**BUILTIN_THEMES, **{own.name: own for own in THEMES}}
"""Textual's themes and sessionbrowse's own themes, by name."""


def fitting(name: str, colors: ColorSystem) -> str:
    """Return the theme to use instead of a theme in a terminal with few colours.

    With 16 colours, which differ in each terminal, mixed colours would be lost, and the row under the cursor with them.
    """
    return TERMINAL if colors in (ColorSystem.STANDARD, ColorSystem.WINDOWS) else name


def textual_name(wanted: str) -> str | None:
    """Return the name with which Textual identifies a theme named in the settings; None if there is no such theme."""
    name = NAMES.get(wanted, wanted)
    return name if name in AVAILABLE else None


LOOKS: dict[str, tuple[str, str, str]] = {
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
        for role, (colour, background, style) in LOOKS.items()
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
