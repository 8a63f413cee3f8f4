"""What a kill left of changes to whole files: what was made, moved or trashed is looked for by its place."""

from __future__ import annotations

import os

from sessionbrowse.services.bench import Bench
from sessionbrowse.store.journal import Change


def create_reached(_: Bench, change: Change) -> bool:
    """Tell whether a new file got its name: it did not before it was whole."""
    return os.path.lexists(change.path)
