"""The agent program that is installed: its path and version, read from the package beside it without starting it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence

from msgspec import Struct

from sessionbrowse.agents.base import Agent, Surroundings, read_settings

_PARENTS = 6
"""Number of directories above a program in which its package is looked for; `dist/bundle/cli.js` needs three."""


class Installed(Struct, frozen=True):
    """An installed agent program; `version` is None if no `package.json` with it was found beside the program."""

    path: str
    version: str | None


def installed(agent: Agent, around: Surroundings, command: Sequence[str] | None = None) -> Installed | None:
    """Return the agent program that a shell would start, or None if there is none.

    `command` is the user's own command from the settings, in place of the program's name.
    """
    path = shutil.which((command or agent.command)[0], path=around.environ.get("PATH", os.defpath))
    if path is None:
        return None
    for package in _packages_beside(path, agent.packages):
        version = read_settings(package, around.disk).get("version")
        if isinstance(version, str):
            return Installed(path, version)
    return Installed(path, None)


def _packages_beside(path: str, names: Sequence[str]) -> Iterator[str]:
    """Yield the paths at which the `package.json` of one of the packages `names` may be."""
    # On Windows, and in a project's `.bin`, the program is a script beside the folder of packages.
    for folder in (os.path.join(os.path.dirname(path), "node_modules"), os.path.dirname(os.path.dirname(path))):
        yield from (os.path.join(folder, name, "package.json") for name in names)
    folder = os.path.dirname(os.path.realpath(path))
    for _ in range(_PARENTS):
        if folder.replace(os.sep, "/").endswith(tuple(names)):
            yield os.path.join(folder, "package.json")
        folder = os.path.dirname(folder)
