"""Questions about translated sessions that the tests of both agents ask."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from sessionbrowse.format.lines import blocks_with_newlines
from sessionbrowse.model.foreign import claude as of_claude
from sessionbrowse.model.foreign import codex as of_codex
from sessionbrowse.model.foreign.translated import Translated
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.listing.summary_builder import SummaryBuilder, status_at_end
from sessionbrowse.model.session.records import Reader
from sessionbrowse.model.session.rules import RULES


def claude(lines: Iterable[bytes], path: str = "", **options: Any) -> Translated:
    """Translate lines of Claude Code."""
    return of_claude.claude(joined(lines), path, **options)


def codex(lines: Iterable[bytes], path: str = "", **options: Any) -> Translated:
    """Translate lines of Codex."""
    return of_codex.codex(joined(lines), path, **options)


def joined(lines: Iterable[bytes]) -> bytes:
    """Return a file's content."""
    return b"\n".join([line.removesuffix(b"\n") for line in lines])


def role(entry: dict[str, Any]) -> str:
    """Return a message's role, a note's kind or an entry's type."""
    return str(entry.get("message", {}).get("role") or entry.get("customType") or entry["type"])


def text(entry: dict[str, Any]) -> str:
    """Return the text of an entry."""
    if entry["type"] != "message":
        return str(entry.get("content") or entry.get("summary"))
    return "\n".join(str(block.get("text", "")) for block in entry["message"]["content"] if block["type"] == "text")


def outline(made: Translated) -> list[tuple[str, str]]:
    """Return role and text of all entries."""
    return [(role(entry), text(entry)) for entry in made.entries]


def branches(made: Translated) -> list[list[str]]:
    """Return the roles of the children of each entry with several children."""
    children = defaultdict(list)
    for entry in made.entries:
        children[entry["parentId"]].append(role(entry))
    return [roles for parent, roles in children.items() if len(roles) > 1 and parent is not None]


def check(made: Translated) -> None:
    """Check what holds for every file: ids are unique, and each parent stands before its children."""
    seen: set[str | None] = {None}
    for entry in made.entries:
        assert entry["parentId"] in seen, entry
        assert entry["id"] not in seen, entry
        seen.add(entry["id"])
    assert all(line.endswith(b"\n") for line in made.lines() if line != made.torn)


def listed(made: Translated) -> Summary:
    """Return what a list says of a session."""
    lines = list(made.lines())
    reader = Reader(RULES[made.agent])
    builder = SummaryBuilder(reader)
    if made.sketch is not None:
        builder.add_sketch(made.sketch)
    else:
        for block in blocks_with_newlines(lines):
            builder.add_block(block)
    reader.finish()
    status = status_at_end(b"".join(lines)) if made.sketch is None else made.sketch.status
    return builder.finish("session.jsonl", 0, 0, status)


def check_both(made: Translated, brief: Translated) -> None:
    """Check a session, and that a list says the same of it if it is read in brief."""
    check(made)
    assert listed(brief) == listed(made)
    if brief.sketch is None:
        assert (brief.unread, brief.has_ended) == (made.unread, made.has_ended)


def path(made: Translated) -> list[str]:
    """Return the roles of the entries from the root to the leaf."""
    by_id = {entry["id"]: entry for entry in made.entries}
    found, at = [], made.entries[-1]["id"] if made.entries else None
    while at is not None:
        found.append(role(by_id[at]))
        at = by_id[at]["parentId"]
    return found[::-1]
