"""Filters that remove the sessions that the user hides from agents: from lists of files, and from lists of changes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from sessionbrowse.config import cache_dir
from sessionbrowse.format.json_value import Json
from sessionbrowse.store.find.discover import agent_of_path
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.read.summarise import summarise_path
from sessionbrowse.store.write.journal import Change


def shown_paths(paths: Iterable[str], scope: Scope) -> list[str]:
    """Return the given paths without excluded sessions and without sessions made from excluded sessions.

    A file that cannot be read may be of an excluded session, so its path is left out, too.
    """
    excluded = scope.excluded
    if excluded is None:
        return list(paths)
    from sessionbrowse.services.list.gather import open_listing

    whole = replace(scope, agents=(), hidden=True, archived=True, most_unread=None)
    with open_listing(whole, cache_dir(), skipped=lambda _: None, note=lambda _: None) as listing:
        read = {session.path for session in listing.everyone}
        shown = {session.path for session in listing.sessions}

    def is_shown(path: str) -> bool:
        for name in (path, os.path.realpath(path)):
            if name in read:
                return name in shown
        # The file is outside all searched directories, or was not read for the list, so it is read now.
        summary = summarise_path(path, lambda marks: agent_of_path(path, marks))
        return summary is not None and path not in excluded.withheld([summary], lambda: [summary])

    return [path for path in paths if is_shown(path)]


def shown_changes(changes: Iterable[Change], scope: Scope) -> list[Change]:
    """Return the given changes without those of excluded sessions.

    If one change of a command is left out, all changes of this command are.

    The session files that a change names are checked. If none of them exists any more, the change is left out.
    """
    among, excluded = list(changes), scope.excluded
    if excluded is None:
        return among
    files = {change.id: [path for path in _session_files(change) if os.path.isfile(path)] for change in among}
    shown = set(shown_paths(dict.fromkeys(path for found in files.values() for path in found), scope))

    def is_shown(change: Change) -> bool:
        named = {change.session_id, *_session_files(change)}
        return bool(files[change.id]) and shown.issuperset(files[change.id]) and named.isdisjoint(excluded.sessions)

    withheld = {change.group or change.id for change in among if not is_shown(change)}
    return [change for change in among if (change.group or change.id) not in withheld]


def _session_files(change: Change) -> Iterator[str]:
    """Yield the absolute paths of session files that a change's record names."""
    waiting: list[Json] = [change.path, change.before, change.plan, change.after]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list | tuple):
            waiting += item
        elif isinstance(item, str) and os.path.isabs(item) and ".jsonl" in os.path.basename(item) and "\0" not in item:
            yield item
