"""Read session files into summaries, in several processes if that is faster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from sessionbrowse.agents import Marks
from sessionbrowse.errors import Unreadable
from sessionbrowse.format.codec import recognise
from sessionbrowse.format.lines import line_blocks
from sessionbrowse.model.listing.directories import listed
from sessionbrowse.model.listing.summary import SessionStatus, Summary, joined_text
from sessionbrowse.model.listing.summary_builder import STATUS_BYTES, SummaryBuilder, milliseconds_of, status_at_end
from sessionbrowse.model.session.records import Reader
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.model.session.session import Session, build_session, left_behind
from sessionbrowse.model.usage.request import price_of
from sessionbrowse.store.find.discover import FoundFile, placed
from sessionbrowse.store.own.mirrors import machine_of
from sessionbrowse.store.read.content import Content, closing, file_blocks, open_content, read_at
from sessionbrowse.store.read.worker_processes import chunked, fork_map, one_worker
from sessionbrowse.store.system.files import pread
from sessionbrowse.text import model_name

PREVIEW_CHARACTERS = 72


def summaries_of(
    files: list[FoundFile],
    make: Callable[[FoundFile], Summary | None] | None = None,
    *,
    workers_for: Callable[[int], int] = one_worker,
) -> Iterator[Summary | None]:
    """Yield the summary of every file, None for a deleted one.

    `workers_for` returns the number of processes to use, given the total size of the files in bytes.
    """
    workers = workers_for(sum(file.size for file in files))
    make = make or summarise_file
    if workers == 1:
        for file in files:
            yield make(file)
        return

    def work(chunk: list[int]) -> list[Summary | None]:
        return [make(files[index]) for index in chunk]

    for summaries in fork_map(chunked([file.size for file in files]), work, workers):
        yield from summaries


def summarise_file(file: FoundFile) -> Summary | None:
    """Return the summary of one session file; None if the file has been deleted."""
    summary = summarise_path(file.path, file.agent)
    return placed(summary, file) if summary is not None else None


def summarise_path(path: str, agent_of: Callable[[Marks], str], *, texts: list[str] | None = None) -> Summary | None:
    """Return the summary of the session file at a path; None if the file has been deleted.

    `agent_of` returns the agent whose rules apply, given the marks in the file (content that only one agent writes).
    The list `texts`, if given, receives the texts of messages.
    """
    summary = _summarised(path, agent_of, texts)
    return on_its_machine(summary) if summary is not None else None


def on_its_machine(summary: Summary) -> Summary:
    """Return a summary with the session's machine, and its directory as lists show it (`mini:/home/me`)."""
    machine = machine_of(summary.path)
    cwd = listed(summary.cwd, machine)
    return summary if machine is None and cwd == summary.cwd else replace(summary, machine=machine, cwd=cwd)


def _summarised(path: str, agent_of: Callable[[Marks], str], texts: list[str] | None) -> Summary | None:
    try:
        content = open_content(path, "brief" if texts is None else "memory")
    except Unreadable as error:
        return _not_read(path, agent_of(Marks()), error.__cause__)
    agent, descriptor, status = "", content.descriptor, content.status
    with closing(descriptor):
        try:
            head = content.head()
            marks = content.marks(head)
            agent = agent_of(marks)
            foreign = recognise(head) if content.program is None else None
            if foreign is not None:
                return without_content(path, agent, status, foreign)
            while True:
                reader = Reader(RULES[agent])
                summariser = SummaryBuilder(reader, texts=texts)
                if content.sketch is not None:
                    summariser.add_sketch(content.sketch)
                else:
                    content.feed(summariser)
                reader.finish()
                if reader.is_transcript:
                    session = transcript_session(descriptor, path)
                    return summarise_transcript(session, path, status, session_status(content))
                # Each round finds the mark of one more agent (content that only it writes), so this loop ends.
                marks = Marks(marks.agents | reader.marks)
                decided = agent_of(marks)
                if decided == agent:
                    return summariser.finish(path, status.st_size, status.st_mtime_ns, session_status(content))
                agent = decided
                if texts is not None:
                    texts.clear()
        except OSError as error:
            return _not_read(path, agent, error)


def agent_of_file(path: str, agent_of: Callable[[Marks], str]) -> str:
    """Return a session file's agent: `agent_of` decides by all marks in the file (content of only one agent)."""
    summary = summarise_path(path, agent_of)
    return summary.agent if summary is not None else agent_of(Marks())


def _not_read(path: str, agent: str, cause: BaseException | None) -> Summary | None:
    """Return a summary whose `problem` is the reason why a file cannot be read; None if the file has been deleted."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    # An error without `strerror` comes from unpacking: the packed content is damaged.
    reason = (
        "not a regular file" if cause is None else getattr(cause, "strerror", None) or "the file's content is damaged"
    )
    return without_content(path, agent, status, f"cannot be read: {reason}")


def without_content(path: str, agent: str, status: os.stat_result, problem: str) -> Summary:
    """Return the summary of a file whose content cannot be used: path, size, time, and the given problem."""
    return Summary(
        agent=agent,
        path=path,
        bytes=status.st_size,
        mtime_ns=status.st_mtime_ns,
        modified=milliseconds_of(status.st_mtime_ns, cut=agent == "omp"),
        problem=problem,
    )


def transcript_session(descriptor: int, path: str) -> Session:
    """Read an open indusagi transcript as a session."""
    return build_session(
        line_blocks(file_blocks(descriptor)), RULES["indusagi"], path, lambda offset, size: read_at(path, offset, size)
    )


def session_status(content: Content) -> SessionStatus | None:
    """Return the status (complete, interrupted, …) of the session in an open file, from the end of the file."""
    if content.sketch is not None:
        return content.sketch.status
    if content.lines is None:
        end = max(0, os.fstat(content.descriptor).st_size - STATUS_BYTES)
        return status_at_end(pread(content.descriptor, STATUS_BYTES, end))
    return next(filter(None, map(status_at_end, reversed(content.lines))), None)


def summarise_transcript(
    session: Session, path: str, status: os.stat_result, session_status: SessionStatus | None
) -> Summary:
    """Return the summary of an indusagi transcript.

    As in indusagi, the message count and the first message are those of the active branch, and the time is the file's.
    """
    branch = session.active_branch()
    roles = [session.envelopes[index].role for index in branch]
    return Summary(
        agent="indusagi",
        path=path,
        id=path.rpartition("/")[2].rpartition(".")[0],
        modified=milliseconds_of(status.st_mtime_ns, cut=False),
        message_count=sum(role in ("user", "assistant", "toolResult") for role in roles),
        first_message=_first_user_text(session, branch),
        bytes=status.st_size,
        entry_count=len(session.ids),
        branch_count=max(1, sum(1 for index in range(len(session.ids)) if not session.children(index))),
        tokens=sum(envelope.spent.tokens for envelope in session.envelopes if envelope.spent is not None),
        cost=round(
            sum(price_of(envelope.spent.cost) for envelope in session.envelopes if envelope.spent is not None), 10
        ),
        model=next(
            (
                model_name(session.envelopes[index].provider, session.envelopes[index].model)
                for index in reversed(branch)
                if session.envelopes[index].model
            ),
            None,
        ),
        problem_count=len(session.problems),
        mtime_ns=status.st_mtime_ns,
        is_transcript=True,
        left_behind=left_behind(session) is not None,
        status=session_status,
    )


def _first_user_text(session: Session, branch: Sequence[int]) -> str | None:
    for index in branch:
        if session.envelopes[index].role == "user":
            text = " ".join(joined_text(session.raw(index)).split())
            return text[:PREVIEW_CHARACTERS] or None
    return None
