"""Convert a session for another agent: make a new session, or add new entries to an earlier conversion.

The source is only read. The new session's header names its origin, so that a later conversion finds it again.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import cast

from msgspec import to_builtins
from msgspec.structs import replace

from sessionbrowse.agents import AGENTS, Place, Surroundings
from sessionbrowse.agents.base import names_in, stem_of
from sessionbrowse.errors import ChangedMeanwhile, NeedsRepair, RefusedWrite, SessionBrowseError, Unreadable
from sessionbrowse.format import ids
from sessionbrowse.format.entries import (
    AssistantMessage,
    RedactedThinkingBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultMessage,
)
from sessionbrowse.format.json_value import Json, json_line, json_object
from sessionbrowse.format.title_slot import SLOT_BYTES, parse_slot, slot_line
from sessionbrowse.model.context.message import records_left_out, stored_message
from sessionbrowse.model.convert.carried import TARGETS, Entry, TargetAgent, marked, notes_of
from sessionbrowse.model.convert.conversion import Converted, converted
from sessionbrowse.model.convert.grown import Grown, growth
from sessionbrowse.model.convert.losses import Loss
from sessionbrowse.model.fork import has_answer, whole_lines
from sessionbrowse.model.session.records import origin_of
from sessionbrowse.model.session.session import Session
from sessionbrowse.services.change.fork import (
    RandomBytes,
    artifacts_of,
    copy_artifacts,
    create_session,
    folder_in,
    make_folder,
    new_session_id,
)
from sessionbrowse.services.clean.replace_file import digest_of, refuse_running, replace_by
from sessionbrowse.services.list.locate import header_of
from sessionbrowse.services.transaction.change import ChangeResult, Origin, changing, retried, usage_at
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.find.directories import given_here
from sessionbrowse.store.find.roots import find_places
from sessionbrowse.store.read.content import closing, file_blocks, open_content, read_blob, read_exactly
from sessionbrowse.store.read.session_file import open_session, refuse_damaged
from sessionbrowse.store.write.journal import Fingerprint
from sessionbrowse.store.write.whole_files import create_file
from sessionbrowse.store.write.write_checks import Target, shown_name, taken_here
from sessionbrowse.store.write.writer import opened
from sessionbrowse.text import clean, iso_ms

_NOT_CARRIED = (".jsonl", "draft.txt", ".draft-only-session")
"""Endings of files beside an omp session that are not copied: sessions of subagents, and unsent prompts."""


_NOTES = {
    "same": "There is nothing new to carry to {}.",
    "went on": "The session made before, {}, went on by itself; this is a new one.",
    "changed": "The session made before, {}, differs from what would be carried now; this is a new one.",
}


class Carried(ChangeResult, frozen=True, kw_only=True, rename={"from_agent": "from", "to_agent": "to"}):
    """The result of carrying a session to another agent, or of a dry run: the session in the file `path`.

    `added_to` is the path if entries were added to the session that an earlier conversion made. `entries` counts the
    entries that were carried now; 0 means that there was nothing new. `held_back` counts entries of an unfinished
    answer, which are not carried yet.
    """

    source: str
    from_agent: str
    to_agent: str
    id: str
    cwd: str
    entries: int
    losses: tuple[Loss, ...] = ()
    added_to: str | None = None
    held_back: int = 0
    dry_run: bool = False

    def document(self) -> dict[str, Json]:
        """Return the result as a JSON document."""
        document = super().document()
        document["done"] = None if document.pop("dry_run") else self.done
        losses = [to_builtins(one) | {"entries": list(one.entries)} for one in self.losses]
        return document | {"losses": losses, "notes": list(self.notes)}


def convert(
    source: str,
    to: str,
    agent: str | None = None,
    *,
    cwd: str | None = None,
    roots: Sequence[str] = (),
    drop_signatures: bool = False,
    dry_run: bool = False,
    force: bool = False,
    preview: Callable[[Carried], None] = lambda carried: None,
    context: ChangeContext | None = None,
    group: str | None = None,
    random_bytes: RandomBytes = os.urandom,
) -> Carried:
    """Carry the session in the file `source`, of the given agent, to the agent `to`: pi, omp or atomic.

    If an earlier conversion made a session in the same folder, only new entries are added to it. If that session was
    continued, or old entries of the source changed, a new session is made instead. `cwd` is the directory of the new
    session (None: that of the source). `roots` are directories given by the user; the session is written to the one
    that belongs to the agent `to`, if any. Before anything is written, `preview` is called with what will be carried
    and lost; it may raise an error to prevent that.

    Raises:
        NotASession: the source cannot be read, or is not a session.
        RefusedWrite: the session cannot be carried to this agent.
        InUse: the agent may have the session made before open, and `force` is False.
        WriteFailed: an I/O error occurred; the message says what was written.
    """
    context = context or ChangeContext.real()
    taken = taken_here(source, cwd)
    session = _opened(source, agent, to)
    target = cast(TargetAgent, to)
    directory = given_here(cwd, context.around.cwd) if cwd is not None else session.cwd
    folder = _folder_for(target, directory, roots, context.around)
    until = _unfinished_from(session, context)
    made = converted(
        session,
        _lines(session),
        target,
        read_image=partial(_image, session.path),
        drop_signatures=drop_signatures,
        until=until,
        left=_left_behind(session),
    )
    if made.refusal is not None:
        name = shown_name(session.path)
        raise NeedsRepair(f"{name} cannot be carried to {target}: {target} {made.refusal}. Repair the session first.")

    def attempt() -> Carried:
        before, grown = _made_before(session, target, folder, made)
        now = iso_ms(context.now_ms())
        session_id = new_session_id(target, int(context.now_ms()), random_bytes)
        result = Carried(
            done="convert",
            path=os.path.join(folder, ids.file_name(now, session_id)),
            source=session.path,
            from_agent=session.agent,
            to_agent=target,
            id=session_id,
            cwd=directory,
            entries=len(made.lines),
            losses=made.losses,
            held_back=0 if until is None else len(session.ids) - until,
            dry_run=dry_run,
            notes=(*taken, *_notes(directory, until is not None, before, grown)),
        )
        if grown.state in ("same", "grown"):
            known, entries = header_of(before), len(grown.lines) + (grown.longer is not None)
            result = replace(result, path=before, id=known.id or "", cwd=known.cwd or "", entries=entries)
            result = replace(result, added_to=before if entries else None)
        preview(result)
        if dry_run or grown.state == "same":
            return result
        with changing(context):
            if _made_before(session, target, folder, made) != (before, grown):
                raise ChangedMeanwhile("Another program changed the session made before. Nothing was written.")
            if result.added_to is not None:
                return _add(result, grown, made, context, group, force=force)
            return _create(result, session, made, now, context, group)

    return retried(attempt)


# ---- before writing ------------------------------------------------------------------------------------------


def _opened(source: str, agent: str | None, to: str) -> Session:
    if to not in TARGETS:
        raise RefusedWrite(f"A session can be carried to {', '.join(TARGETS)}, but not to {clean(to)}.")
    session = open_session(source, agent)
    if session.refusal is not None:
        refuse_damaged(session, RefusedWrite)
    name = shown_name(session.path)
    if session.agent == to:
        raise RefusedWrite(f"{name} is a session of {to} already. Fork it to have a copy.")
    if not session.ids:
        raise RefusedWrite(f"{name} has no entries to carry over.")
    if to == "atomic" and not has_answer(session, list(range(len(session.ids)))):
        raise RefusedWrite(
            f"{name} has no assistant message, and atomic damages the file of such a session when it is continued."
        )
    return session


def _folder_for(to: TargetAgent, directory: str, roots: Sequence[str], around: Surroundings) -> str:
    """Return the folder for a new session of a directory: in the user's root of that agent, or the agent's own."""
    here = replace(around, cwd=directory if os.path.isabs(directory) else around.cwd, projects=())
    named = [one for one in find_places(around, roots, (to,)) if one.agent == to and one.is_store] if roots else []
    places = [one for one in named or AGENTS[to].places(here) if one.kind in ("projects", "flat", "folder")]
    place: Place = next((one for one in places if one.kind == "flat"), places[0])
    if place.kind != "projects":
        return place.root
    if not directory:
        raise RefusedWrite("The session has no working directory; name a directory for the new session.")
    return folder_in(place.root, to, directory, around)


def _unfinished_from(session: Session, context: ChangeContext) -> int | None:
    """Return the index of the answer that the agent may still be writing; None if there is none.

    An answer is unfinished if a call has no result yet, or if it has neither text nor calls; for Claude Code and Codex,
    also if the file does not record the end of the turn.
    """
    answers = [at for at, one in enumerate(session.envelopes) if one.role == "assistant"]
    if not answers or usage_at(session.path, session.agent, session.cwd, context).state == "free":
        return None
    message, *later = (stored_message(session, at) for at in range(answers[-1], len(session.ids)))
    if not isinstance(message, AssistantMessage) or message.stop_reason in ("aborted", "error"):
        return None
    blocks = message.content if isinstance(message.content, tuple) else ()
    results = {one.tool_call_id for one in later if isinstance(one, ToolResultMessage)}
    is_waiting = any(isinstance(block, ToolCallBlock) and block.id not in results for block in blocks)
    is_silent = bool(blocks) and all(isinstance(block, ThinkingBlock | RedactedThinkingBlock) for block in blocks)
    is_open = session.header is not None and session.header.unfinished is True
    return answers[-1] if is_waiting or is_silent or is_open else None


def _left_behind(session: Session) -> Mapping[str, int]:
    """Count what is not carried: files that the agent keeps beside a session, and records that are no entries."""
    names = [name for _, _, found in os.walk(artifacts_of(session.path)) for name in found]
    records = dict(records_left_out(session))
    beginning = ("earlier history in another file", "copied from the parent session")
    return {
        "artifacts": sum(not name.endswith(_NOT_CARRIED) for name in names) if session.agent == "omp" else 0,
        "subagent_files": sum(name.endswith(".jsonl") for name in names),
        "draft": int("draft.txt" in names),
        "beginning": sum(records.pop(kind, 0) for kind in beginning),
        **{kind: records.pop(kind, 0) for kind in ("attachment", "document", "sidechain")},
        "unread": sum(records.values()),
    }


def _lines(session: Session) -> list[bytes]:
    with closing(open_content(session.path).descriptor) as descriptor:
        return list(whole_lines(session, partial(read_exactly, descriptor, shown_name(session.path))))


def _image(path: str, reference: str) -> str | None:
    with suppress(Unreadable, OSError):
        found = read_blob(path, reference)
        return base64.b64encode(found).decode() if found is not None else None
    return None


def _made_before(session: Session, to: TargetAgent, folder: str, made: Converted) -> tuple[str, Grown]:
    """Return the newest session in a folder that a conversion of this session made, and what is new; "" if none."""
    for name in reversed(names_in(folder)):
        path = os.path.join(folder, name)
        origin = (origin_of(header_of(path)) if name.endswith(".jsonl") else None) or {}
        # Codex can keep one thread in several files, which all have the id of the thread.
        is_same_file = _name_in(str(origin.get("path"))) == _name_in(session.path)
        if is_same_file and (origin.get("agent"), origin.get("id")) == (session.agent, session.id):
            with suppress(SessionBrowseError, OSError):
                return path, growth(made.lines, _lines(open_session(path, to)), partial(_image, path))
    return "", Grown("changed")


def _name_in(path: str) -> str:
    return os.path.basename(stem_of(path))


def _notes(directory: str, is_unfinished: bool, before: str, grown: Grown) -> list[str]:
    notes = []
    if directory and not os.path.isdir(directory):
        notes.append(f"The directory {clean(directory)} does not exist here.")
    if is_unfinished:
        notes.append("The last answer is not finished and was not carried; carry the session over again to add it.")
    if before and grown.state in _NOTES:
        notes.append(_NOTES[grown.state].format(clean(before)))
    return notes


# ---- writing -------------------------------------------------------------------------------------------------


def _create(
    result: Carried, session: Session, made: Converted, now: str, context: ChangeContext, group: str | None
) -> Carried:
    """Write the new session as one change: completely or not at all. The caller holds the lock for changes."""
    path, folder = result.path, os.path.dirname(result.path)
    header: Entry = {"type": "session", "version": 3, "id": result.id, "timestamp": now, "cwd": result.cwd}
    slot = slot_line(made.title, made.title_source, now) if result.to_agent == "omp" else b""
    if slot and made.title:
        header |= {"title": made.title, "titleSource": made.title_source}
    header = marked(header, "origin", {"agent": session.agent, "id": session.id, "path": session.path})
    content = [slot, json_line(marked(header, "title", made.title) if slot else header), *made.lines]
    after = {"source": session.path, "digest": digest_of(content)}

    def write(temporary: str) -> Fingerprint:
        make_folder(folder, os.path.dirname(session.path))
        # A conversion back to omp finds the artifacts there; files of other programs stay in their own folder.
        origin = origin_of(session.header) if session.header is not None else None
        if "omp" in (session.agent, (origin or {}).get("agent")):
            copy_artifacts(session, path, _NOT_CARRIED)
        return create_file(path, content, temporary=temporary, mode=0o600)

    origin = Origin(verb="convert", group=group)
    change, notes = create_session(path, result.to_agent, result.id, after, write, context, origin)
    return replace(result, undo_id=change.id, notes=(*result.notes, *notes))


def _add(
    result: Carried, grown: Grown, made: Converted, context: ChangeContext, group: str | None, *, force: bool
) -> Carried:
    """Add the new entries to the session made before: a new version of its file replaces the old one in one step.

    The caller holds the lock for changes.
    """
    with opened(Target(result.path, result.to_agent)) as file:
        refuse_running(file, context, force=force)
        content = b"".join(file_blocks(file.descriptor))
        if content and not content.endswith(b"\n"):
            content += b"\n"
        content = _renamed(content, made, iso_ms(context.now_ms()))
        if grown.longer is not None:
            content = _with_longer(content, grown.longer)
        pieces = (content, *grown.lines)

        def check(path: str) -> None:
            there = open_session(path, result.to_agent)
            if there.refusal is not None or len(there.ids) < len(file.session.ids) + len(grown.lines):
                raise RefusedWrite("The finished session does not have the entries that were to be added.")

        change, notes = replace_by(file, lambda: pieces, context, Origin(verb="convert", group=group), check=check)
    return replace(result, undo_id=change.id, notes=(*result.notes, *notes))


def _with_longer(content: bytes, longer: bytes) -> bytes:
    """Replace an answer that was carried unfinished by the finished one; return the new content."""
    wanted = (json_object(longer) or {}).get("id")
    lines = content.splitlines(keepends=True)
    return b"".join([longer if (json_object(line) or {}).get("id") == wanted else line for line in lines])


def _renamed(content: bytes, made: Converted, now: str) -> bytes:
    """Return the content of an omp session with the source's name, unless the session was renamed since."""
    slot = parse_slot(content[:SLOT_BYTES])
    line, _, rest = content[SLOT_BYTES:].partition(b"\n")
    header = json_object(line) or {}
    given = notes_of(header).get("title", header.get("title", ""))
    if slot is None or slot.title != given or slot.title == made.title:
        return content
    return slot_line(made.title, made.title_source, now) + json_line(marked(header, "title", made.title)) + rest
