"""Find the current path of a moved file from an old path, by the moves that the journal records."""

from __future__ import annotations

from collections.abc import Iterator

from sessionbrowse.store.write.journal import Change, Journal


def moves_in(change: Change) -> Iterator[tuple[str, str]]:
    """Yield the old and the new path of every file and folder that a change moved."""
    plan = change.plan
    for source, target in plan.get("moves", ()):
        yield source, target
    for source, target in plan.get("folders", ()):
        yield source, target
    for source, target, *_ in plan.get("files", ()):
        if source != target:
            yield source, target
    for item in change.after.get("items", ()):
        if item["item"] is not None:
            yield item["original"], item["item"]


def now_at(journal: Journal, path: str) -> str:
    """Return the current path of the file that once had the given path, by all later moves in the journal.

    If several files had the given path one after another, the newest file is followed.
    """
    changes = [change for change in journal.changes().values() if change.state == "done"]
    start = 0
    for index, change in enumerate(changes):
        if any(target == path for _, target in moves_in(change)):
            start = index + 1
    for change in changes[start:]:
        restored = journal.changes().get(change.undoes or "") if change.plan.get("kind") == "restore" else None
        pairs = [(new, old) for old, new in moves_in(restored)] if restored is not None else list(moves_in(change))
        for source, target in pairs:
            if path == source or path.startswith(f"{source}/"):
                path = target + path.removeprefix(source)
                break
    return path


def left_for(journal: Journal, path: str) -> str | None:
    """Return the current path of the session that was last moved away from a path; None if no change moved one."""
    for change in reversed(journal.changes().values()):
        for source, target in moves_in(change):
            if source == path and change.state == "done":
                return now_at(journal, target)
    return None
