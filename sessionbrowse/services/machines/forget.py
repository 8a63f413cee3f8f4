"""Forget a machine: its entry in the settings file, its mirror, and the index rows of the sessions in the mirror."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from sessionbrowse.agents import Surroundings
from sessionbrowse.config import settings_path
from sessionbrowse.errors import WriteFailed
from sessionbrowse.services.machines.settings_file import remove_machine
from sessionbrowse.store.index.index import open_index
from sessionbrowse.store.index.schema import IndexUnavailable
from sessionbrowse.store.own.mirrors import machines_dir, mirror_dir
from sessionbrowse.text import clean


def forget_machine(name: str, around: Surroundings, cache: Path) -> bool:
    """Remove all that is kept of a machine; return True if there was a mirror. Nothing changes on that machine.

    Raises:
        RefusedWrite: the machine's lines in the settings file cannot be removed; the mirror stays.
        WriteFailed: the mirror could not be removed completely.
    """
    home = Path(around.home)
    remove_machine(settings_path(around.environ, home), name)
    mirror = mirror_dir(name, machines_dir(around.environ, home))
    if not os.path.isdir(mirror):
        return False
    try:
        shutil.rmtree(mirror)
    except OSError as error:
        raise WriteFailed(f"The mirror {clean(mirror)} could not be removed ({error.strerror}).") from error
    index = open_index(cache)
    if index is not None:
        # A row that stays, because another process writes the index, is removed when its file is missed.
        with closing(index), suppress(IndexUnavailable, sqlite3.Error):
            index.update([], gone=[row for row in index.rows() if row.path.startswith(mirror + os.sep)])
    return True
