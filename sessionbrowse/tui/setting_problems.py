"""Find problems in the user's settings, for toasts at the start and for the output of `sessionbrowse config`."""

from __future__ import annotations

from collections.abc import Callable

from textual.notifications import SeverityLevel

from sessionbrowse.config import Settings
from sessionbrowse.text import clean, plural
from sessionbrowse.tui.commands.keymap import Keys
from sessionbrowse.tui.data.options import BrowseOptions
from sessionbrowse.tui.paint import theme

MOST_PROBLEMS = 3
"""Maximum number of toasts about problems in the settings at the start; more would hide the lists."""


def setting_problems(settings: Settings, keys: Keys) -> list[str]:
    """Return a sentence for each problem in the settings: invalid custom commands, clashing keys, an unknown theme."""
    problems: list[str] = []
    if settings.commands:
        from sessionbrowse.tui.resume.custom_commands import custom_problems

        problems += custom_problems(settings.commands)
    problems += keys.clashes
    # This checks the theme in the settings, not the theme in use, which the user may have switched with a key.
    if theme.textual_name(settings.theme) is None:
        problems.append(f'There is no theme named "{clean(settings.theme)}": the themes are {", ".join(theme.NAMES)}.')
    return problems


def show_problems(options: BrowseOptions, keys: Keys, say: Callable[[str, SeverityLevel], None]) -> None:
    """Show the first problems of the settings as toasts, and the number of further problems in one more toast."""
    problems = [*options.problems, *setting_problems(options.settings, keys)]
    for problem in problems[:MOST_PROBLEMS]:
        say(problem, "warning")
    if len(problems) > MOST_PROBLEMS:
        more = plural(len(problems) - MOST_PROBLEMS, "more problem", "more problems")
        say(f'The settings have {more}. "sessionbrowse config" lists them.', "warning")
