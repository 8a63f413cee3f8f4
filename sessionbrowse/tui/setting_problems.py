"""Find problems in the user's settings, for a message at the start and for the output of `sessionbrowse config`."""

from __future__ import annotations

from collections.abc import Callable

from sessionbrowse.config import Settings
from sessionbrowse.text import clean, plural
from sessionbrowse.tui.commands.keymap import Keys
from sessionbrowse.tui.data.options import BrowseOptions
from sessionbrowse.tui.paint import theme


def setting_problems(settings: Settings, keys: Keys) -> list[str]:
    """Return a sentence for each problem in the settings: invalid custom commands, clashing keys, an unknown theme."""
    problems: list[str] = []
    if settings.commands:
        from sessionbrowse.tui.resume.custom_commands import custom_problems

        problems += custom_problems(settings.commands)
    problems += keys.clashes
    # This checks the theme in the settings, not the theme in use, which the user may have switched with a key.
    if theme.textual_name(settings.theme) is None:
        known = ", ".join([*theme.NAMES, *sorted(set(theme.AVAILABLE) - {own.name for own in theme.THEMES})])
        problems.append(f'There is no theme named "{clean(settings.theme)}": the themes are {known}.')
    return problems


def show_problems(options: BrowseOptions, keys: Keys, say: Callable[[str], None]) -> None:
    """Show the first problem of the settings as a message, with the number of the others."""
    problems = [*options.problems, *setting_problems(options.settings, keys)]
    for problem in problems[1:]:
        say(problem)
    if problems:
        more = f" And {plural(len(problems) - 1, 'more problem', 'more problems')}." if len(problems) > 1 else ""
        say(f"{problems[0]}{more}")
