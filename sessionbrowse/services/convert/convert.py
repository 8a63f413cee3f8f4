"""Convert a session for another agent: make a new session, or add new entries to an earlier conversion.

The source is only read. The new session's header names its origin, so that a later conversion finds it again.
"""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.agents import AGENTS, Place, Surroundings
from sessionbrowse.agents.base import names_in
from sessionbrowse.errors import ChangedMeanwhile, NeedsRepair, RefusedWrite, SessionBrowseError, Unreadable
from sessionbrowse.format import ids
from sessionbrowse.format.json_value import json_line, json_object
from sessionbrowse.format.title_slot import SLOT_BYTES, parse_slot, slot_line
from sessionbrowse.model.context.message import records_left_out
from sessionbrowse.model.convert.carried import TARGETS, TargetAgent
from sessionbrowse.model.convert.conversion import Converted, converted
from sessionbrowse.model.convert.grown import Grown, growth
from sessionbrowse.model.convert.losses import Loss
from sessionbrowse.model.fork import has_answer, whole_lines
from sessionbrowse.model.session.records import CONVERSION_KEY, origin_of
from sessionbrowse.model.session.session import Session
from sessionbrowse.services.change.fork import RandomBytes, artifacts_of, create_session, make_folder, new_session_id
from sessionbrowse.services.clean.replace_file import digest_of, refuse_running, replace_by
from sessionbrowse.services.list.locate import header_of
from sessionbrowse.services.transaction.change import ChangeResult, Origin, changing, usage_at
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.find.directories import given_here
from sessionbrowse.store.find.roots import find_places
from sessionbrowse.store.read.content import closing, file_blocks, open_content, read_blob
from sessionbrowse.store.read.session_file import open_session, refuse_damaged
from sessionbrowse.store.write.journal import Fingerprint
from sessionbrowse.store.write.whole_files import create_file
from sessionbrowse.store.write.write_checks import Target, is_path, refuse_outside, shown_name, taken_here
from sessionbrowse.store.write.writer import opened
from sessionbrowse.text import clean, iso_ms

Json = Any
_NOT_CARRIED = (".jsonl", "draft.txt", ".draft-only-session")
"""Endings of files beside an omp session that are not copied: sessions of subagents, and unsent prompts."""


class Carried(ChangeResult, frozen=True, kw_only=True):
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
        return {
            "done": None if self.dry_run else self.done,
            "from": self.from_agent,
            "to": self.to_agent,
            "source": self.source,
            "path": self.path,
            "id": self.id,
            "cwd": self.cwd,
            "entries": self.entries,
            "losses": [
                {"kind": one.kind, "count": one.count, "entries": list(one.entries), "context": one.context}
                for one in self.losses
            ],
            "added_to": self.added_to,
            "held_back": self.held_back,
            "undo_id": self.undo_id,
            "notes": list(self.notes),
        }


class _Made(Struct, frozen=True):
    """The session that an earlier conversion made, and how its source differs now."""

    path: str
    growth: Grown


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
    place = _place_for(target, directory, roots, context.around)
    folder = _folder_in(place, directory, context.around)
    until = _unfinished_from(session, context)
    made = _converted(session, target, until, drop_signatures)
    if made.refusal is not None:
        name = shown_name(session.path)
        raise NeedsRepair(f"{name} cannot be carried to {target}: {target} {made.refusal}. Repair the session first.")
    losses = (*made.losses, *_losses_of_artifacts(session, target), *_losses_of_records(session))
    held = 0 if until is None else len(session.ids) - until
    before = _made_before(session, target, folder, made)
    result = Carried(
        done="convert",
        path="",
        source=session.path,
        from_agent=session.agent,
        to_agent=target,
        id="",
        cwd=directory,
        entries=len(made.lines),
        losses=tuple(sorted(losses, key=lambda one: not one.context)),
        held_back=held,
        dry_run=dry_run,
        notes=(*taken, *_notes(directory, before, held)),
    )
    if before is not None and before.growth.state in ("same", "grown"):
        known = header_of(before.path)
        result = replace(
            result, path=before.path, id=known.id or "", cwd=known.cwd or "", entries=len(before.growth.lines)
        )
        is_added = bool(before.growth.lines or before.growth.longer)
        result = replace(result, added_to=before.path if is_added else None)
        preview(result)
        if dry_run or not is_added:
            return result
        return _add(result, before, made, context, group, force=force)
    now = iso_ms(context.now_ms())
    session_id = new_session_id(target, int(context.now_ms()), random_bytes)
    path = os.path.join(folder, ids.file_name(now, session_id))
    result = replace(result, path=path, id=session_id)
    preview(result)
    return result if dry_run else _create(result, session, made, now, context, group)


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


def _place_for(to: TargetAgent, directory: str, roots: Sequence[str], around: Surroundings) -> Place:
    """Return the directory in which an agent keeps new sessions of a project: the user's root, or the agent's own."""
    here = replace(around, cwd=directory if os.path.isabs(directory) else around.cwd, projects=())
    named = (
        [place for place in find_places(around, roots, (to,)) if place.agent == to and place.is_store] if roots else []
    )
    places = [place for place in named or AGENTS[to].places(here) if place.kind in ("projects", "flat", "folder")]
    return next((place for place in places if place.kind == "flat"), places[0])


def _folder_in(place: Place, directory: str, around: Surroundings) -> str:
    if place.kind != "projects":
        return place.root
    if not directory:
        raise RefusedWrite("The session has no working directory; name a directory for the new session.")
    folder = os.path.join(place.root, AGENTS[place.agent].folder_of(directory, around))
    if not is_path(folder):
        raise RefusedWrite("The session's directory is not a valid path; name another directory for the new session.")
    if os.path.lexists(folder):
        refuse_outside(folder, place.root)
    return folder


def _losses_of_records(session: Session) -> Iterator[Loss]:
    """Yield one loss for all records that are not part of the conversation, such as saved settings of the program."""
    count = sum(records_left_out(session).values())
    if count:
        yield Loss(kind="unread", count=count)


def _unfinished_from(session: Session, context: ChangeContext) -> int | None:
    """Return the index of the answer that the agent may still be writing; None if there is none.

    An answer is unfinished if a call has no result yet, or if it has neither text nor calls; for Claude Code and Codex,
    also if the file does not record the end of the turn.
    """
    used = usage_at(session.path, session.agent, session.cwd, context)
    if used.state == "free":
        return None
    answers = [at for at in range(len(session.ids)) if session.envelopes[at].role == "assistant"]
    if not answers:
        return None
    message = session.fields(answers[-1]).get("message")
    if not isinstance(message, dict) or message.get("stopReason") in ("aborted", "error"):
        return None
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    calls = {block.get("id") for block in blocks if block.get("type") == "toolCall"}
    results = {
        fields["message"].get("toolCallId")
        for at in range(answers[-1] + 1, len(session.ids))
        if session.envelopes[at].role == "toolResult"
        and isinstance((fields := session.fields(at)).get("message"), dict)
    }
    is_silent = bool(blocks) and all(block.get("type") in ("thinking", "redactedThinking") for block in blocks)
    is_open = session.header is not None and session.header.unfinished is True
    return answers[-1] if calls - results or is_silent or is_open else None


def _converted(session: Session, to: TargetAgent, until: int | None, drop_signatures: bool) -> Converted:
    with closing(open_content(session.path).descriptor) as descriptor:
        return converted(
            session,
            whole_lines(session, partial(_read, descriptor, session.path)),
            to,
            read_image=partial(_image, session.path),
            drop_signatures=drop_signatures,
            until=until,
        )


def _read(descriptor: int, path: str, offset: int, size: int) -> bytes:
    content = b"".join(file_blocks(descriptor, offset, offset + size))
    if len(content) < size:
        raise ChangedMeanwhile(f"{shown_name(path)} got shorter while it was read; nothing was written. Try again.")
    return content


def _image(path: str, reference: str) -> str | None:
    try:
        found = read_blob(path, reference)
    except (Unreadable, OSError):
        return None
    return base64.b64encode(found).decode() if found is not None else None


def _losses_of_artifacts(session: Session, to: TargetAgent) -> Iterator[Loss]:
    """Yield a loss for each kind of file that omp keeps beside a session: artifacts, subagent sessions, unsent text."""
    beside = artifacts_of(session.path)
    if session.agent != "omp" or not os.path.isdir(beside):
        return
    names = [name for _, _, names in os.walk(beside) for name in names]
    agents = sum(name.endswith(".jsonl") for name in names)
    others = sum(not name.endswith(_NOT_CARRIED) for name in names)
    drafts = int("draft.txt" in names)
    for kind, count in (("artifacts", others), ("subagent_files", agents), ("draft", drafts)):
        if count:
            yield Loss(kind=kind, count=count)


def _made_before(session: Session, to: TargetAgent, folder: str, made: Converted) -> _Made | None:
    """Return the newest session in a folder that a conversion of this session made; None if there is none."""
    for name in reversed(names_in(folder)):
        path = os.path.join(folder, name)
        origin = origin_of(header_of(path)) if name.endswith(".jsonl") else None
        if origin is None or (origin.get("agent"), origin.get("id")) != (session.agent, session.id):
            continue
        with suppress(SessionBrowseError, OSError):
            there = open_session(path, to)
            with closing(open_content(path).descriptor) as descriptor:
                lines = list(whole_lines(there, partial(_read, descriptor, path)))
            return _Made(path, growth(made.lines, lines, partial(_image, path)))
    return None


def _notes(directory: str, before: _Made | None, held_back: int) -> tuple[str, ...]:
    notes = []
    if directory and not os.path.isdir(directory):
        notes.append(f"The directory {clean(directory)} does not exist here.")
    if held_back:
        notes.append("The last answer is not finished and was not carried; carry the session over again to add it.")
    if before is not None and before.growth.state == "same":
        notes.append(f"There is nothing new to carry to {clean(before.path)}.")
    if before is not None and before.growth.state in ("went on", "changed"):
        why = "went on by itself" if before.growth.state == "went on" else "differs from what would be carried now"
        notes.append(f"The session made before, {clean(before.path)}, {why}; this is a new one.")
    return tuple(notes)


# ---- writing -------------------------------------------------------------------------------------------------


def _create(
    result: Carried, session: Session, made: Converted, now: str, context: ChangeContext, group: str | None
) -> Carried:
    """Write the new session as one change: completely or not at all."""
    path, folder = result.path, os.path.dirname(result.path)
    origin = {"agent": session.agent, "id": session.id, "path": session.path}
    header: dict[str, Json] = {"type": "session", "version": 3, "id": result.id, "timestamp": now, "cwd": result.cwd}
    slot = b""
    if result.to_agent == "omp":
        slot = slot_line(made.title, made.title_source, now)
        if made.title:
            header |= {"title": made.title, "titleSource": made.title_source}
    header[CONVERSION_KEY] = {"origin": origin}
    content = [slot, json_line(header), *made.lines]
    after = {"source": session.path, "digest": digest_of(content)}

    def write(temporary: str) -> Fingerprint:
        make_folder(folder, os.path.dirname(session.path))
        _copy_artifacts(session, path)
        return create_file(path, content, temporary=temporary, mode=0o600)

    with changing(context):
        change, notes = create_session(
            path, result.to_agent, result.id, after, write, context, Origin(verb="convert", group=group)
        )
    return replace(result, undo_id=change.id, notes=(*result.notes, *notes))


def _copy_artifacts(session: Session, path: str) -> None:
    """Copy omp's artifacts beside the new session, so that a conversion back to omp finds them."""
    beside = artifacts_of(session.path)
    if os.path.isdir(beside) and not os.path.islink(beside):

        def left_out(folder: str, names: list[str]) -> set[str]:
            return {name for name in names if name.endswith(_NOT_CARRIED) or _is_special(os.path.join(folder, name))}

        shutil.copytree(beside, artifacts_of(path), symlinks=True, ignore=left_out)


def _is_special(path: str) -> bool:
    return not (os.path.isfile(path) or os.path.isdir(path) or os.path.islink(path))


def _add(
    result: Carried, before: _Made, made: Converted, context: ChangeContext, group: str | None, *, force: bool
) -> Carried:
    """Add the new entries to the session made before: a new version of the file replaces the old one in one step."""
    target = Target(before.path, result.to_agent)
    with changing(context), opened(target) as file:
        refuse_running(file, context, force=force)
        content = b"".join(file_blocks(file.descriptor))
        if content and not content.endswith(b"\n"):
            content += b"\n"
        if not before.growth.renamed:
            content = _renamed(content, made, iso_ms(context.now_ms()))
        if before.growth.longer is not None:
            content = _with_longer(content, before.growth.longer)
        pieces = (content, *before.growth.lines)

        def check(path: str) -> None:
            there = open_session(path, result.to_agent)
            if there.refusal is not None or len(there.ids) < len(file.session.ids) + len(before.growth.lines):
                raise RefusedWrite("The finished session does not have the entries that were to be added.")

        change, notes = replace_by(file, lambda: pieces, context, Origin(verb="convert", group=group), check=check)
    return replace(result, undo_id=change.id, notes=(*result.notes, *notes))


def _with_longer(content: bytes, longer: bytes) -> bytes:
    """Replace an answer that was carried unfinished by the finished one; return the new content."""
    wanted = (json_object(longer) or {}).get("id")
    lines = [line + b"\n" for line in content.split(b"\n")[:-1]]
    return b"".join([longer if (json_object(line) or {}).get("id") == wanted else line for line in lines])


def _renamed(content: bytes, made: Converted, now: str) -> bytes:
    """Return the content of an omp session with the source's name in the title slot."""
    slot = parse_slot(content[:SLOT_BYTES])
    if slot is None or not made.title or slot.title == made.title:
        return content
    return slot_line(made.title, made.title_source, now) + content[SLOT_BYTES:]
