"""`python -m tests.bench.open_ours FILE [--indexed]`: times our opening of a session up to the rows of its tree.

Inside the process, as pi is timed inside node. `--indexed` opens it as the browser does, from the index.
"""

from __future__ import annotations

import json
import sys
import time

from sessionbrowse.model import tree
from sessionbrowse.store.session_file import open_session
from sessionbrowse.tui.sources import disk_source


def main(path: str, *, indexed: bool) -> None:
    """Print the seconds and the number of entries as JSON."""
    open_one = disk_source([], []).open_session if indexed else open_session
    started = time.perf_counter()
    session = open_one(path, "pi")
    tree.rows(session)
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "count": len(session.envelopes)}))


if __name__ == "__main__":
    main(sys.argv[1], indexed="--indexed" in sys.argv)
