"""What a look at the stores saw, in a few bytes: where that is what was seen before, every file is as it was.

Each file is asked, as always; what is spared is going through the answers one by one.
"""

from __future__ import annotations

from sessionbrowse import __version__
from sessionbrowse.store.find.prefetch import AHEAD
from sessionbrowse.store.find.scan_passes import Scan
from sessionbrowse.store.find.slow_disks import exists_many


def sight_of(what: Scan) -> bytes | None:
    """Return what tells all that the look ahead saw of a scan's places from anything else it might have seen.

    None if it did not look at all of them: it was not begun, or a place lies elsewhere.
    """
    if not AHEAD.roots or what.include_hidden or what.include_archived:
        return None
    elsewhere = [place.root for place in what.places if place.root not in AHEAD.roots]
    if any(exists is not False for exists in exists_many(elsewhere, fresh=True).values()):
        return None
    # While the other process still looks: this takes long to import.
    from hashlib import sha256

    content = AHEAD.content()
    if not content:
        return None
    sight = sha256(repr((__version__, what.places, what.agents, what.override, what.follow_projects)).encode())
    sight.update(content)
    return sight.digest()


def was_everything(what: Scan) -> bool:
    """Whether a walk that has ended asked for all that the look ahead had seen of its places, and for nothing else.

    What it did not ask for was seen, but not gone through: a link that led nowhere, a store that went meanwhile.
    """
    roots = tuple([place.root for place in what.places])
    return AHEAD.is_all and not any(directory.startswith(roots) for directory in AHEAD.left)


def look_no_further() -> None:
    """Take what was seen for what is: the walk is spared. Who looks again looks at the disk."""
    AHEAD.forget()
