"""Install and remove the agent extension that opens the browser, and the skill that explains sessionbrowse to a model.

Each is one folder in the agent's own directory. The agents load such folders without a change of their settings.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from sessionbrowse.agents import AGENTS, Surroundings
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.store.own.state_directory import is_temporary_name, read_own_file, write_own_file
from sessionbrowse.text import clean, json_exact, shell_quote

SEEN_LOADING = ("pi", "omp")
"""The agents with which the extension was tested: the real program loaded it."""

_MARK = b"Written by `sessionbrowse integrate`"
"""Text in every file that `install` writes. If a file in a folder lacks this text, sessionbrowse did not make it."""

_SOURCES = Path(__file__).parent.parent / "inside"
_FILES: Mapping[str, tuple[str, str]] = {"extension.js": ("extensions", "index.js"), "SKILL.md": ("skills", "SKILL.md")}
"""Maps a file of this package to its place in the agent's directory: the folder, and the name of the installed file."""


class OwnFolder(Struct, frozen=True):
    """A folder that sessionbrowse installs in an agent's directory, with the name and content of its only file."""

    path: str
    name: str
    content: bytes

    @property
    def file(self) -> str:
        """The path of the only file in the folder."""
        return os.path.join(self.path, self.name)

    @property
    def exists(self) -> bool:
        """True if anything exists at the folder's path."""
        return os.path.lexists(self.path)


def own_folders(agent: str, around: Surroundings, command: Sequence[str], package: str) -> list[OwnFolder]:
    """Return the two folders to install for an agent: one with the extension, one with the skill.

    `command` starts sessionbrowse. `package` is a file of the installed package, by which the extension notices that
    sessionbrowse was uninstalled.
    """
    directory = agent_directory(agent, around)
    values = {"AGENT": agent, "COMMAND": list(command), "PACKAGE": package}
    folders = []
    for source, (above, name) in _FILES.items():
        text = (_SOURCES / source).read_text(encoding="utf-8")
        text = text.replace("@RUN@", " ".join(map(shell_quote, command)))
        for key, value in values.items():
            text = text.replace(f'"@{key}@"', json_exact(value))
        folders.append(OwnFolder(os.path.join(directory, above, "sessionbrowse"), name, text.encode()))
    return folders


def agent_directory(agent: str, around: Surroundings) -> str:
    """Return the directory of an agent's settings and extensions."""
    return AGENTS[agent].places(around)[0].agent_dir or ""


def install(agent: str, around: Surroundings, folders: Sequence[OwnFolder]) -> None:
    """Write the folders with the extension and the skill for an agent, replacing those of an earlier version.

    Raises:
        RefusedWrite: the agent has no directory yet, or a folder was not made by sessionbrowse; nothing was written.
    """
    directory = agent_directory(agent, around)
    if not os.path.isdir(directory):
        raise RefusedWrite(f"{clean(directory)} does not exist: start {agent} once, then try again.")
    check_ours(folders)
    for folder in folders:
        _remove_leftovers(folder)
        write_own_file(folder.file, folder.content)


def remove(folders: Sequence[OwnFolder]) -> list[OwnFolder]:
    """Remove the installed folders with the extension and the skill; return those that existed.

    Raises:
        RefusedWrite: a folder was not made by sessionbrowse; nothing was removed.
    """
    present = [folder for folder in folders if folder.exists]
    check_ours(present)
    for folder in present:
        _remove_leftovers(folder)
        with suppress(FileNotFoundError):
            os.unlink(folder.file)
        os.rmdir(folder.path)
    return present


def check_ours(folders: Sequence[OwnFolder]) -> None:
    """Raise `RefusedWrite` if one of the folders exists, but was not written by `install`."""
    for folder in folders:
        if folder.exists and not _is_ours(folder):
            raise RefusedWrite(
                f"{clean(folder.path)} was not made by sessionbrowse, or contains other files. Move it away first."
            )


def _is_ours(folder: OwnFolder) -> bool:
    """Return True if a folder has no other files than an interrupted or complete `install` or `remove` leaves."""
    if os.path.islink(folder.path) or not os.path.isdir(folder.path) or os.path.islink(folder.file):
        return False
    others = set(os.listdir(folder.path)) - set(_leftovers(folder))
    return not others or (others == {folder.name} and _MARK in (read_own_file(folder.file) or b""))


def _leftovers(folder: OwnFolder) -> list[str]:
    """Return the names of the temporary files that interrupted installations left in a folder."""
    if not os.path.isdir(folder.path):
        return []
    return [
        name
        for name in os.listdir(folder.path)
        if is_temporary_name(name, folder.name) and os.path.isfile(os.path.join(folder.path, name))
    ]


def _remove_leftovers(folder: OwnFolder) -> None:
    for name in _leftovers(folder):
        os.unlink(os.path.join(folder.path, name))
