"""`python -m tests.bench.open_ours FILE`: times our opening of a session up to the rows of its tree.

Inside the process, as pi is timed inside node.
"""

from __future__ import annotations

import json
import sys
import time

from sessionbrowse.model.tree import rows as tree
from sessionbrowse.store.read.session_file import open_session

SHOWN = 50


def main(path: str) -> None:
    """Print the seconds and the number of entries as JSON."""
    started = time.perf_counter()
    session = open_session(path, "pi")
    rows = tree.rows(session, keep_ancestors=True)
    # What the screen asks of all rows, and the texts of those around the leaf.
    _ = rows.position_of
    _ = rows.connected
    texts = [tree.row_text(session, row.index) for row in rows[-SHOWN:]]
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "count": len(session.ids), "shown": len(texts)}))


if __name__ == "__main__":
    main(sys.argv[1])
