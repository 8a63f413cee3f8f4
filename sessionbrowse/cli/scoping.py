"""The scope and the settings of a command."""

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
    """Return the scope that the arguments name; the settings are read if they are not given."""
    return Scope(
        around=real_surroundings(),
        roots=tuple(arguments.roots or ()),
        extra_roots=(settings or settings_in_force()).roots,
        agents=tuple(arguments.agents or ()),
        hidden=hidden,
        archived=archived,
    )


def settings_in_force() -> Settings:
    """Return the user's settings; print problems with them on stderr."""
    loaded = load_settings()
    for problem in loaded.problems:
        output.note(problem)
    return loaded.settings


def warn(skipped: Skipped) -> None:
    """Print on stderr why a file or directory was skipped."""
    output.note(f"{clean(skipped.path)}: {skipped.reason}")
