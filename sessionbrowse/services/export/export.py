"""Export a session, or the path up to one entry, as HTML, Markdown, JSON, or JSONL (like pi's `/export`).

Secrets and personal names can be masked: the export is then made of a temporary masked copy of the session.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Literal

from sessionbrowse.errors import NotASession, RefusedWrite
from sessionbrowse.format import ids
from sessionbrowse.format.splice import without_member
from sessionbrowse.model.clean.masker import Masker
from sessionbrowse.model.fork import path_lines
from sessionbrowse.model.search.entry_text import message_text
from sessionbrowse.model.session.session import ROOT, Session
from sessionbrowse.model.tree import rows as tree
from sessionbrowse.services.clean.clean import Where
from sessionbrowse.services.clean.redact import Review, Suspect, redact
from sessionbrowse.services.export.page import PageEntry, page
from sessionbrowse.services.export.parts import CHANGE_TYPES, HIDDEN_TYPES, PrintedPart, heading, parts
from sessionbrowse.services.export.safe_markdown import code_block, code_span, escaped, quoted, safe_markdown
from sessionbrowse.services.list.locate import find_entry
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.read.content import closing, open_regular
from sessionbrowse.store.read.session_file import open_session, refuse_damaged
from sessionbrowse.store.read.translation import own_content
from sessionbrowse.store.system.files import pread
from sessionbrowse.store.write.whole_files import create_file
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.text import clean, json_exact, truncate

Json = Any
Format = Literal["html", "markdown", "jsonl", "json"]
_LONGEST_ROW = 300
_LONGEST_TITLE = 80
_LONGEST_NAME = 60
"""Maximum length of a proposed file name in characters; as UTF-8 it stays below the 255 bytes of file systems."""
FORMATS: tuple[Format, ...] = ("html", "markdown", "jsonl", "json")


def export(
    path: str, agent: str | None, form: Format, *, at: str | None = None, home: str = "", shown_path: str | None = None
) -> Iterator[bytes]:
    """Return the exported session as pieces of bytes.

    HTML and JSON contain every branch, Markdown and JSONL only the active branch. With `at` (id or label of an entry),
    every format contains only the path up to this entry. `shown_path` replaces the session's path in JSON.

    A damaged file that its agent would refuse is exported as far as it can be read; a JSONL export needs its header.

    Raises:
        NotASession: the file cannot be read or has no entry. NeedsRepair: a JSONL export would have no header.
        NoSuchEntry: no entry matches `at`. RefusedWrite: Claude Code and Codex have no JSONL of a part of a session.
    """
    session = open_session(path, agent)
    if session.refusal is not None and (not session.ids or (form == "jsonl" and session.id is None)):
        refuse_damaged(session, NotASession)
    index = None if at is None else find_entry(session, at)
    branch = session.active_branch() if index is None else session.branch(index)
    match form:
        case "html":
            return _html(session, None if index is None else set(branch), home)
        case "markdown":
            return _markdown(session, branch)
        case "jsonl" if session.rules.only_read is not None:
            if index is not None:
                name = session.rules.only_read
                raise RefusedWrite(f"A session of {name} can only be exported whole as JSONL. Choose another format.")
            return _own_lines(session.path)
        case "jsonl":
            return _jsonl(session, branch)
        case "json":
            return _json(session, shown_path or session.path, branch if index is not None else range(len(session.ids)))


def _own_lines(path: str) -> Iterator[bytes]:
    """Yield all lines of a file: no program could read a part of a session of Claude Code or Codex."""
    with closing(open_regular(path)) as descriptor:
        yield own_content(path, descriptor, os.fstat(descriptor).st_size)


def export_to(target: str, pieces: Iterable[bytes], source: str) -> None:
    """Write an export to the new file `target`; only users who may read the session file `source` may read `target`.

    Raises:
        RefusedWrite: `target` exists already. WriteFailed: the file could not be written; no file was made.
    """
    with closing(open_regular(source)) as like:
        create_file(target, pieces, like=like, may_be_ours=True)


def proposed_name(title: str, form: Format) -> str:
    """Return a file name for the export of a session with this title, such as `refactor-auth-module.html`."""
    words = re.findall(r"\w+", title.casefold())
    name = "-".join(words)[:_LONGEST_NAME].strip("-") or "session"
    return f"{name}.{'md' if form == 'markdown' else form}"


def _title(session: Session) -> str:
    """Return the session's name, else the beginning of the first text of the user, else its id or file name."""
    users = (index for index, kind in enumerate(session.envelopes) if kind.role == "user")
    texts = (message_text(session.fields(index)) for index in users)
    first = "" if session.name else next((text for text in texts if text.strip()), "")
    called = truncate(clean(first), _LONGEST_TITLE) or clean(session.id or os.path.basename(session.path))
    return clean(session.name) if session.name else called


def _html(session: Session, only: set[int] | None, home: str) -> Iterator[bytes]:
    about = f"{session.agent} · {clean(session.cwd)} · {clean(session.id or '')}"
    return page(_title(session), about, _conversation_first(_page_entries(session, only, home)))


def _conversation_first(entries: Iterable[PageEntry]) -> Iterator[PageEntry]:
    """Yield the entries; those that only change settings before the first message are moved behind that message."""
    held: list[PageEntry] | None = []
    for entry in entries:
        if held is not None and entry.role in CHANGE_TYPES:
            held.append(entry)
            continue
        yield entry
        yield from held or ()
        held = None
    yield from held or ()


def _page_entries(session: Session, only: set[int] | None, home: str) -> Iterator[PageEntry]:
    shown: set[int] = set()
    for row in tree.rows(session, "all"):
        # The tree view has no row for an assistant message with only tool calls. The page has an entry for it, before
        # the entry of the row that follows.
        for index in [*_without_row(session, row.index, shown), row.index]:
            shown.add(index)
            kind = session.envelopes[index]
            if (only is not None and index not in only) or kind.type in HIDDEN_TYPES:
                continue
            value = session.fields(index)
            mark = session.labels.get(index)
            text = clean(tree.row_text(session, index, home))[:_LONGEST_ROW] if index == row.index else ""
            yield PageEntry(
                level=row.level,
                row=text,
                heading=clean(heading(value)),
                time=clean(str(value.get("timestamp") or "")),
                label=clean(mark.text) if mark is not None else None,
                is_active=row.active,
                role=kind.role or kind.type,
                parts=tuple(parts(value)),
            )


def _without_row(session: Session, index: int, shown: set[int]) -> list[int]:
    """Return the assistant messages directly above an entry that are not yet on the HTML page, oldest first."""
    found: list[int] = []
    at = session.parents[index]
    while at != ROOT and at not in shown and session.envelopes[at].role == "assistant":
        found.append(at)
        at = session.parents[at]
    return found[::-1]


def _markdown(session: Session, branch: list[int]) -> Iterator[bytes]:
    where = " · ".join(filter(None, [session.agent, code_span(session.cwd)]))
    yield f"# {escaped(_title(session))}\n\n{where}\n".encode("utf-8", "replace")
    for index in branch:
        value = session.fields(index)
        if session.envelopes[index].type in HIDDEN_TYPES or value.get("display") is False:
            continue
        found = list(parts(value))
        if not found:
            continue
        mark = session.labels.get(index)
        label = f" [{escaped(mark.text)}]" if mark is not None else ""
        lines = [f"\n## {escaped(heading(value))}{label}\n", *map(_markdown_part, found)]
        yield "\n".join(lines).encode("utf-8", "replace")


def _markdown_part(part: PrintedPart) -> str:
    match part.kind:
        case "text":
            return f"{safe_markdown(part.text)}\n"
        case "image":
            return f"*An image ({escaped(part.title)}).*\n"
        case "note":
            return f"*{escaped(part.title)}: {escaped(part.text)}*\n"
        case "thinking":
            return f"{quoted(safe_markdown(part.text))}\n"
        case _:
            language = "diff" if part.kind in ("diff", "edit") else ""
            below = f"\n{code_block(part.text, language)}\n" if part.text or part.kind != "call" else ""
            return f"**{escaped(part.title)}**\n{below}"


def _jsonl(session: Session, branch: list[int]) -> Iterator[bytes]:
    """Yield the lines of a JSONL export: header without parent session, entries of the branch, labels at the end."""
    if session.is_transcript:
        raise NotASession(f"{clean(os.path.basename(session.path))} is a transcript and has no JSONL export.")
    if session.title_slot_line is not None:
        yield session.title_slot_line.rstrip(b"\r\n") + b"\n"
    yield without_member(session.header_line or b"{}", "parentSession").strip() + b"\n"
    if branch:
        with closing(open_regular(session.path)) as descriptor:
            new_id = partial(ids.entry_id, random_bytes=os.urandom)
            yield from path_lines(session, branch[-1], lambda offset, size: pread(descriptor, size, offset), new_id)


def _json(session: Session, path: str, indexes: Iterable[int]) -> Iterator[bytes]:
    document = {"agent": session.agent, "path": path, "id": session.id, "cwd": session.cwd}
    document |= {"name": session.name, "leaf_id": session.leaf_id}
    head = json_exact(document).removesuffix("}")
    yield (head + ',"entries":[').encode("utf-8", "backslashreplace")
    for number, index in enumerate(indexes):
        between = b"," if number else b""
        yield between + json_exact(session.fields(index)).encode("utf-8", "backslashreplace")
    yield b"]}\n"


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
