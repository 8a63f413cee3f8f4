"""Export a session with secrets and personal names masked, by means of a temporary masked copy of the session."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator

from sessionbrowse.model.clean.masker import Masker
from sessionbrowse.services.clean.clean import Where
from sessionbrowse.services.clean.redact import Review, Suspect, redact
from sessionbrowse.services.export.export import Format, export
from sessionbrowse.services.list.locate import find_entry
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.admission import Target


def export_redacted(
    target: Target,
    form: Format,
    review: Review,
    is_accepted: Callable[[Suspect], bool],
    *,
    at: str | None = None,
    home: str = "",
    context: ChangeContext | None = None,
) -> Iterator[bytes]:
    """Yield an export of a session as pieces of bytes, with secrets masked.

    Of the secrets found in `review`, those for which `is_accepted` returns True are masked. Errors are raised before
    the first piece.

    Raises:
        RefusedWrite: a secret cannot be masked, or the session changed since the review.
        NotASession, NoSuchEntry: as for `export`.
    """
    masker = Masker(one.mask for one in review.suspects if is_accepted(one))
    entry_id = None
    if at is not None:
        session = open_session(target.path, target.agent)
        entry_id = session.ids[find_entry(session, at)]
    with tempfile.TemporaryDirectory(prefix="sessionbrowse-") as folder:
        path = os.path.join(folder, masker.text(os.path.basename(target.path).removesuffix(".zst")))
        redact(target, review, is_accepted, Where(to=path), context=context)
        shown = masker.text(target.path)
        yield from export(path, target.agent, form, at=entry_id, home=home, shown_path=shown)
