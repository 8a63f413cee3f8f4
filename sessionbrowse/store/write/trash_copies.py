"""Keep a copy of a session file in a trash before the file is replaced, so that the replacement can be undone."""

from __future__ import annotations

import os
from urllib.parse import quote

from msgspec.structs import replace

from sessionbrowse.errors import RefusedWrite
from sessionbrowse.store.read.content import file_blocks
from sessionbrowse.store.system.trash_places import INFO_SUFFIX
from sessionbrowse.store.write.copies import discard, remove, write_new
from sessionbrowse.store.write.trash import NoTrash, Trashed, identified, is_beginning, reason_of
from sessionbrowse.text import clean


def paths_in(directory: str, name: str) -> tuple[str, str]:
    """Return the paths of an item and of its `.trashinfo` file in a trash directory."""
    return os.path.join(directory, "files", name), os.path.join(directory, "info", name + INFO_SUFFIX)


def put_copy(path: str, descriptor: int, item: str, info: str, deleted_at: str) -> Trashed:
    """Write a copy of a session file, open as `descriptor`, into a trash; the file itself stays.

    Raises:
        NoTrash: the copy could not be written; no part of it is left in the trash.
    """
    status = os.fstat(descriptor)
    try:
        for folder in (os.path.dirname(item), os.path.dirname(info)):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        content = f"[Trash Info]\nPath={quote(os.fsencode(path))}\nDeletionDate={deleted_at}\n".encode()
        write_new(info, [content], 0o600)
        write_new(item, file_blocks(descriptor, 0, status.st_size), mtime_ns=status.st_mtime_ns, like=descriptor)
    except (OSError, RefusedWrite) as error:
        discard(item)
        discard(info)
        place = clean(os.path.dirname(os.path.dirname(item)))
        raise NoTrash(f"{clean(path)} was not copied to {place} ({reason_of(error)}); nothing was changed.") from error
    return found_copy(path, item, info)


def found_copy(path: str, item: str, info: str) -> Trashed:
    """Return the copy that `put_copy` made in a trash, as a trashed item."""
    return replace(identified(item), original=path, item=item, info=info)


def drop_copy(path: str, item: str, info: str) -> None:
    """Remove the copy of a session file from the trash, unless the file at `path` has other content than the copy.

    Raises:
        OSError: the copy could not be removed.
    """
    if not os.path.lexists(item) or is_beginning(item, path):
        remove(item)
        remove(info)
