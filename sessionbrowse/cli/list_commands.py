"""The commands that list sessions: by the index where it can tell, which needs little, and otherwise with all care."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sessionbrowse.cli import output
from sessionbrowse.cli.scoping import scope_of, warn
from sessionbrowse.config import INDEX_FILE, cache_dir, state_dir
from sessionbrowse.services.list.documents import project_documents, summary_document
from sessionbrowse.services.list.first_messages import with_first_messages
from sessionbrowse.store.find.slow_disks import exists_many

if TYPE_CHECKING:
    from sessionbrowse.model.listing.summary import Summary
    from sessionbrowse.services.list.scope import Scope
    from sessionbrowse.store.index.overview import Brief

_NOTING_SECONDS = 0.3


def run_list(arguments: argparse.Namespace) -> int:
    """`list`: every session, or those a query finds in names, ids, directories and what was said."""
    scope = scope_of(arguments, hidden=arguments.hidden)
    note = output.noting_once()
    is_plain = not "".join(arguments.query).strip() and arguments.sort in (None, "recent")
    found = None
    if is_plain and _has_index():
        from sessionbrowse.cli.quick_lists import newest

        found = newest(scope, arguments, note)
    if found is None:
        from sessionbrowse.cli.careful_lists import listed

        found = listed(scope, arguments, note)
    chosen, cut = found
    if arguments.json:
        output.print_json_list(map(summary_document, with_first_messages(chosen, cut)))
    else:
        output.print_sessions(chosen, home=scope.around.home)
    return 0


def run_projects(arguments: argparse.Namespace) -> int:
    """`projects`: directories are asked for off the main thread, with a limit in time."""
    scope = scope_of(arguments)
    sessions = _in_brief(scope, output.noting_once())
    exists = exists_many({session.cwd for session in sessions if session.cwd})
    documents = project_documents(sessions, exists)
    if arguments.json:
        output.print_json(documents)
    else:
        output.print_projects(documents, home=scope.around.home)
    _note_projects([path for path, there in exists.items() if there])
    return 0


def run_labels(arguments: argparse.Namespace) -> int:
    """`labels`: only files that have labels are opened."""
    from sessionbrowse.services.inspect import documents as inspect
    from sessionbrowse.services.list.open_session import Opener

    scope = scope_of(arguments)
    opener = Opener(cache_dir(), worth_bytes=0)
    documents = [
        document
        for session in _in_brief(scope, output.noting_once())
        if session.labels
        for document in inspect.label_documents(opener.open(session.path, session.agent), scope.around.home)
    ]
    documents.sort(key=lambda document: str(document["time"] or ""), reverse=True)
    if arguments.json:
        output.print_json(documents)
    else:
        output.print_labels(documents, home=scope.around.home)
    return 0


def _note_projects(directories: Sequence[str]) -> None:
    """Note what tells these repositories, for the day when one is moved; the answer is printed already."""
    sys.stdout.flush()
    if directories:
        from sessionbrowse.store.find import moved_projects

        until = time.monotonic() + _NOTING_SECONDS
        moved_projects.note(directories, str(state_dir()), lambda: time.monotonic() > until, _NOTING_SECONDS)


def _in_brief(scope: Scope, note: Callable[[str], None]) -> Sequence[Summary | Brief]:
    """What is known of all sessions, and no more of it than the index has at hand."""
    sessions: Sequence[Summary | Brief] | None = None
    if _has_index():
        from sessionbrowse.services.list.overview import sessions_in_brief

        sessions = sessions_in_brief(scope, cache_dir(), skipped=warn, note=note)
    if sessions is None:
        from sessionbrowse.cli.careful_lists import summaries

        sessions = summaries(scope, note)[0]
    return sessions


def _has_index() -> bool:
    return os.path.exists(cache_dir() / INDEX_FILE)


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "list": run_list,
    "projects": run_projects,
    "labels": run_labels,
}
