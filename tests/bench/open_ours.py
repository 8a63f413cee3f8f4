"""`python -m tests.bench.open_ours FILE [--indexed]`: times our opening of a session up to the rows of its tree.

Inside the process, as pi is timed inside node. `--indexed` opens it from the index of this environment's cache.
"""

from __future__ import annotations

import json
import sys
import time

from sessionbrowse import config
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree import rows as tree
from sessionbrowse.store.index.index import open_index
from sessionbrowse.store.index.indexed_session import session_from_index
from sessionbrowse.store.read.session_file import open_session

SHOWN = 50


def main(path: str, *, indexed: bool) -> None:
    """Print the seconds and the number of entries as JSON."""
    started = time.perf_counter()
    session = _from_index(path) if indexed else open_session(path, "pi")
    rows = tree.rows(session, keep_ancestors=True)
    # What the screen asks of all rows, and the texts of those around the leaf.
    _ = rows.position_of
    _ = rows.connected
    texts = [tree.row_text(session, row.index) for row in rows[-SHOWN:]]
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "count": len(session.ids), "shown": len(texts)}))


def _from_index(path: str) -> Session:
    index = open_index(config.cache_dir())
    session = session_from_index(index, path, "pi") if index is not None else None
    if session is None:
        raise SystemExit("the index does not have this session")
    return session


if __name__ == "__main__":
    main(sys.argv[1], indexed="--indexed" in sys.argv)
