"""Forget a machine: its entry in the settings file, its mirror, and the index rows of the sessions in the mirror."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from sessionbrowse.agents import Surroundings
from sessionbrowse.config import settings_path
from sessionbrowse.errors import RefusedWrite, WriteFailed
from sessionbrowse.services.machines.look import only_look
from sessionbrowse.services.machines.settings_file import remove_machine
from sessionbrowse.store.index.index import open_index
from sessionbrowse.store.index.schema import IndexUnavailable
from sessionbrowse.store.own.mirrors import machines_dir, mirror_dir
from sessionbrowse.text import clean


def forget_machine(name: str, around: Surroundings, cache: Path) -> bool:
    """Remove everything that is stored here about a machine; return True if it had a mirror.

    Raises:
        RefusedWrite: a look is running, the mirror is a symbolic link, or the machine's lines in the settings file
            cannot be removed; the mirror stays.
        WriteFailed: the mirror could not be removed completely.
    """
    home = Path(around.home)
    settings = settings_path(around.environ, home)
    mirror = mirror_dir(name, machines_dir(around.environ, home))
    if not os.path.isdir(mirror):
        remove_machine(settings, name)
        return False
    if os.path.islink(mirror):
        real = clean(os.path.realpath(mirror))
        raise RefusedWrite(f"The mirror {clean(mirror)} is a link to {real}; remove both first. Nothing was changed.")
    try:
        with only_look(mirror) as is_only:
            if not is_only:
                raise RefusedWrite(f"A look at {name} is running; try again when it has ended. Nothing was changed.")
            remove_machine(settings, name)
        shutil.rmtree(mirror)
    except OSError as error:
        raise WriteFailed(f"The mirror {clean(mirror)} could not be removed ({error.strerror or error}).") from error
    index = open_index(cache)
    if index is not None:
        # If another process is writing the index, the rows stay; they are removed when a scan finds the files gone.
        with closing(index), suppress(IndexUnavailable, sqlite3.Error):
            index.update([], gone=[row for row in index.rows() if row.path.startswith(mirror + os.sep)])
    return True
