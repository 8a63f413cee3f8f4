"""Read the texts of a tree's rows from the session file in the background, so that painting never waits for a disk."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree.row_text import RowText, read_row
from sessionbrowse.tui.data.jobs import Job, Lane

MOST_KEPT = 4000
"""If more row texts than this are cached, the cache drops all texts that are not near the visible rows."""


class RowTexts:
    """Cache of the texts of one session's rows; jobs of the background queue `lane` read the texts from the file."""

    def __init__(self, session: Session, home: str, lane: Lane) -> None:
        self._session = session
        self._home = home
        self._lane = lane
        self._texts: dict[int, RowText] = {}

    def get(self, index: int) -> RowText | None:
        """Return the text of an entry's row; None if the text is not read yet."""
        return self._texts.get(index)

    def prepare(self, entries: Sequence[int], visible: range) -> threading.Event | None:
        """Start reading the texts of the visible rows, then of a screenful above and below; any thread may call this.

        `entries` contains for each row the position of its entry in the session. Returns an event that is set when the
        texts of the visible rows are read; None if these texts are cached already.
        """
        page = len(visible)
        texts = self._texts
        missing = [index for index in entries[visible.start : visible.stop] if index not in texts]
        near = entries[max(0, visible.start - page // 2) : visible.stop + page // 2]
        if not missing and all(index in texts for index in near):
            return None
        wanted = entries[max(0, visible.start - page) : visible.stop + page]
        if len(texts) > MOST_KEPT:
            self._texts = {index: texts[index] for index in wanted if index in texts}
        done = threading.Event()

        def read(job: Job) -> None:
            self._read(missing, job)
            if not job.cancelled():
                done.set()
                job.emit(None)
            self._read(wanted, job)

        self._lane.ask(read)
        return done if missing else None

    def _read(self, indexes: Sequence[int], job: Job) -> None:
        for index in indexes:
            if job.cancelled():
                return
            if index not in self._texts:
                try:
                    text = read_row(self._session, index, self._home)
                except SessionBrowseError as error:
                    text = RowText(str(error))
                self._texts[index] = text
