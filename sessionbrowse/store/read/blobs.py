"""Read omp's blobs (images stored outside the session file): files `blobs/<sha256>` next to `sessions` (omp 18.2.3)."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sessionbrowse.errors import Unreadable
from sessionbrowse.store.read.content import open_regular

LARGEST_BLOB = 256 * 1024 * 1024
_REFERENCE = re.compile("blob:sha256:([0-9a-f]{64})")


def read_blob(session_path: str, reference: str) -> bytes | None:
    """Return the bytes of a blob to which a session refers by `blob:sha256:…`; None if the blob does not exist.

    Raises:
        Unreadable: the blob cannot be read, or is too large for an image.
    """
    named = _REFERENCE.fullmatch(reference)
    if named is None:
        return None
    for folder in Path(os.path.abspath(session_path)).parents:
        path = folder.parent / "blobs" / named[1]
        if folder.name == "sessions" and os.path.isfile(path):
            with os.fdopen(open_regular(path), "rb") as blob:
                content = blob.read(LARGEST_BLOB + 1)
            if len(content) > LARGEST_BLOB:
                raise Unreadable(f"{path} is too large for an image")
            return content
    return None
