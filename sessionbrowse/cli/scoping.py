"""Where the arguments and the settings say that a command looks."""

from __future__ import annotations

import argparse

from sessionbrowse.cli import output
from sessionbrowse.config import Settings, load_settings
from sessionbrowse.services.list.scope import Scope
from sessionbrowse.store.find.discover import Skipped
from sessionbrowse.store.find.roots import real_surroundings
from sessionbrowse.text import clean


def scope_of(
    arguments: argparse.Namespace, settings: Settings | None = None, *, hidden: bool = False, archived: bool = False
) -> Scope:
    """Return where a command looks; the settings are read if they are not known."""
    return Scope(
        around=real_surroundings(),
        roots=tuple(arguments.roots or ()),
        extra_roots=(settings or settings_in_force()).roots,
        agents=tuple(arguments.agents or ()),
        hidden=hidden,
        archived=archived,
    )


def settings_in_force() -> Settings:
    """Return the user's settings; what is wrong with them is said on stderr."""
    loaded = load_settings()
    for problem in loaded.problems:
        output.note(problem)
    return loaded.settings


def warn(skipped: Skipped) -> None:
    """Say on stderr what was not looked at."""
    output.note(f"{clean(skipped.path)}: {skipped.reason}")
