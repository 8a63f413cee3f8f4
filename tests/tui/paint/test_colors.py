"""The colours of rows in terminals with few colours: as calm as in true colour, the row under the cursor strongest."""

from __future__ import annotations

import pytest
from rich.color import Color, ColorSystem
from rich.style import Style

from sessionbrowse.tui.paint import theme
from sessionbrowse.tui.paint.terminal_cells import shown_color
from tests.support.tui_support import browsing, fixed_source

OWN = {own.name: own for own in theme.THEMES}
MIXED = (theme.DARK, theme.LIGHT, "dracula", "nord", "solarized-light", "gruvbox")


def shown(color: Color | None, colors: ColorSystem) -> tuple[int, int, int]:
    found = shown_color(color, colors)
    assert found is not None
    return found.get_truecolor()


def brightness(color: tuple[int, int, int]) -> float:
    """Return the relative luminance of a colour, as the contrast of web pages is computed."""
    linear = [value / 3294.6 if value <= 10 else ((value / 255 + 0.055) / 1.055) ** 2.4 for value in color]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[int, int, int], two: tuple[int, int, int]) -> float:
    darker, brighter = sorted((brightness(one), brightness(two)))
    return (brighter + 0.05) / (darker + 0.05)


def styles(name: str) -> tuple[dict[str, Style], Color]:
    variables = theme.AVAILABLE[name].to_color_system().generate() | theme.AVAILABLE[name].variables
    return theme.role_styles(variables), Color.parse(variables["background"])


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("colors", [ColorSystem.TRUECOLOR, ColorSystem.EIGHT_BIT])
def test_the_row_under_the_cursor_is_the_strongest_in_each_depth(name: str, colors: ColorSystem) -> None:
    looks, background = styles(name)
    behind = shown(background, colors)
    focused, inactive = (shown(looks[role].bgcolor, colors) for role in ("cursor", "cursor-blurred"))
    assert contrast(focused, behind) > contrast(inactive, behind)
    # Rich shows the dark theme's rows as teal and navy: the colourfulness may not grow with fewer colours.
    true = [tuple(looks[role].bgcolor.get_truecolor()) for role in ("cursor", "cursor-blurred")]  # type: ignore[union-attr]
    for few, many in zip((focused, inactive), true, strict=True):
        assert max(few) - min(few) <= max(many) - min(many) + 24


@pytest.mark.parametrize("name", [theme.DARK, theme.LIGHT])
def test_texts_can_be_read_in_256_colours_as_in_true_colour(name: str) -> None:
    looks, background = styles(name)
    for role in ("dim", "user", "assistant", "tool", "error", "note", "label", "key"):
        for behind in (background, looks["cursor"].bgcolor):
            few, many = (
                contrast(shown(looks[role].color, colors), shown(behind, colors))
                for colors in (ColorSystem.EIGHT_BIT, ColorSystem.TRUECOLOR)
            )
            assert few >= min(3.2, many * 0.75), (role, few, many)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, theme.DARK),
        ({"TERM": "screen-256color"}, theme.DARK),
        ({"TERM": "xterm-16color"}, theme.TERMINAL),
        ({"TERM": "linux"}, theme.TERMINAL),
    ],
)
async def test_with_16_colours_those_of_the_terminal_are_used(environ: dict[str, str], expected: str) -> None:
    async with browsing(fixed_source(), environ=environ) as browser:
        assert browser.app.theme == expected
    looks = theme.role_styles(theme.AVAILABLE[theme.TERMINAL].to_color_system().generate())
    assert looks["cursor"].reverse
    assert not looks["cursor-blurred"].reverse
