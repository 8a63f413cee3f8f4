"""The problems of the settings, shown as toasts after the first paint."""

from __future__ import annotations

from collections.abc import Callable

from textual.notifications import SeverityLevel

from sessionbrowse.text import clean, plural
from sessionbrowse.tui.commands.keymap import Keys
from sessionbrowse.tui.data.options import BrowseOptions
from sessionbrowse.tui.paint import theme

MOST_PROBLEMS = 3
"""Maximum number of toasts about problems in the settings at the start; more would hide the lists."""


def setting_problems(options: BrowseOptions, keys: Keys, find_theme: Callable[[str], str | None]) -> list[str]:
    """Return a sentence for each setting that has no effect."""
    problems = list(options.problems)
    settings = options.settings
    if settings.commands:
        from sessionbrowse.tui.resume.custom_commands import custom_problems

        problems += custom_problems(settings.commands)
    problems += keys.clashes
    # Checked also if another theme was chosen with the key since: the setting is wrong all the same.
    if find_theme(settings.theme) is None:
        problems.append(f'There is no theme named "{clean(settings.theme)}": the themes are {", ".join(theme.NAMES)}.')
    return problems


def show_problems(
    options: BrowseOptions,
    keys: Keys,
    find_theme: Callable[[str], str | None],
    say: Callable[[str, SeverityLevel], None],
) -> None:
    """Show the first problems as toasts, and the number of the others."""
    problems = setting_problems(options, keys, find_theme)
    for problem in problems[:MOST_PROBLEMS]:
        say(problem, "warning")
    if len(problems) > MOST_PROBLEMS:
        more = plural(len(problems) - MOST_PROBLEMS, "more problem", "more problems")
        say(f'The settings have {more}. "sessionbrowse config" and "config --keys" list them.', "warning")
