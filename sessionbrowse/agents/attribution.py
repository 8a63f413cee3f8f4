"""Find the agent that a session file belongs to, by its directory and by marks at its beginning.

Three programs read `PI_CODING_AGENT_DIR`, so one directory may contain the files of several programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from sessionbrowse.model.session.rules import ATOMIC_ONLY_TYPES, OMP_ONLY_TYPES, ONLY, VERBATIM_STRATEGY

HEAD_BYTES = 64 * 1024
OWNER_ORDER = ("pi", "omp", "atomic", "indusagi", "claude", "codex")


class Marks(Struct, frozen=True):
    """The agent programs whose marks a file contains; a mark is content that only one program writes.

    A mark that begins with `ONLY` names the one program that can read the file.
    """

    agents: frozenset[str] = frozenset()

    def agent(self) -> str | None:
        """Return the first of omp, atomic and indusagi whose marks the file has; None if the file has no marks."""
        return next((name for name in ("omp", "atomic", "indusagi") if name in self.agents), None)

    @property
    def only(self) -> str | None:
        """The one agent that can read the file; None if the others can read it, too."""
        return next((mark.removeprefix(ONLY) for mark in self.agents if mark.startswith(ONLY)), None)


def marks_of_program(name: str) -> Marks:
    """Return the marks of a file that only the named program can read."""
    return Marks(frozenset({name, f"{ONLY}{name}"}))


def attribute(place_agents: Sequence[str], folder_name: str, marks: Marks, *, is_store: bool = False) -> str:
    """Return the agent that owns a session file: an agent that uses the file's directory and can read the file.

    `is_store` is True if the agents of `place_agents` are known to use the directory. If only one agent uses the
    directory, it is the owner, even of a file with marks of other programs, unless it cannot read the file. Otherwise
    the owner is judged by the file's marks, then by its folder's name, then by its directory. `folder_name` is the name
    of the project's folder, "" for a file in a directory without project folders.
    """
    if marks.only is not None:
        return marks.only
    owners = [name for name in OWNER_ORDER if name in place_agents]
    if is_store and len(owners) == 1:
        return owners[0]
    marked = marks.agent()
    if marked is not None:
        return marked
    if is_omp_folder(folder_name):
        return "omp"
    return owners[0] if owners else OWNER_ORDER[0]


def is_omp_folder(name: str) -> bool:
    """Return True for a folder name that only omp uses, such as `-` (home), `-PATH` (below home) or `-tmp-PATH`."""
    return (name.startswith("-") and not name.startswith("--")) or bool(_HASHED_FOLDER.fullmatch(name))


# omp 17.2.5 to 17.2.8 put a hash into the names of project folders. Such names remain, because later versions of omp
# rename a folder only when the user works in the project again.
_HASHED_FOLDER = re.compile(r"(?:home|tmp|abs)-.+-[0-9a-f]{64}")


def marks_of_head(head: bytes) -> Marks:
    """Return the marks in the first bytes of a file; a mark is content that only one agent program writes.

    Only the starts of lines are searched, because the text of a message may look like a mark.
    """
    head = head.removeprefix(b"\xef\xbb\xbf")
    types = [
        (found[1].decode("ascii"), at)
        for at in _line_starts(head)
        if not head.startswith(_MESSAGE, at) and (found := _TYPE.match(head, at))
    ]
    names = {name for name, _ in types}
    agents: set[str] = set()
    if types[:1] == [("title", 0)]:
        agents |= {"omp", f"{ONLY}omp"}
    elif names & OMP_ONLY_TYPES:
        agents.add("omp")
    if (
        names & ATOMIC_ONLY_TYPES
        or any(name == "compaction" and _is_verbatim(_line(head, at)) for name, at in types)
        or any(name == "session" and _is_workflow(_line(head, at)) for name, at in types[:2])
    ):
        agents.add("atomic")
    if _TRANSCRIPT.match(head):
        agents |= {"indusagi", f"{ONLY}indusagi"}
    return Marks(frozenset(agents))


_TYPE = re.compile(rb'[ \t\r]*\{[ \t]*"type"[ \t]*:[ \t]*"([a-z_]+)"')
# Most lines are messages. They are skipped, because no message shows which program wrote the file.
_MESSAGE = b'{"type":"message"'
_TRANSCRIPT = re.compile(rb'\s*\{[^\n]{0,200}?"schema"[ \t]*:[ \t]*"indus/transcript@1"')


def _line_starts(head: bytes) -> Iterator[int]:
    # Searching for newlines is faster than `re` with `^`, which tests every byte.
    at = 0
    while True:
        yield at
        at = head.find(b"\n", at) + 1
        if at == 0:
            return


def _is_verbatim(line: bytes) -> bool:
    # The imports of these functions take 5 ms, and few files have such lines.
    from sessionbrowse.format.envelope import Envelope, read_envelope

    entry = read_envelope(line)
    return isinstance(entry, Envelope) and entry.text == VERBATIM_STRATEGY


def _is_workflow(line: bytes) -> bool:
    if b"internal" not in line:
        return False
    from sessionbrowse.format.codec import decode_line
    from sessionbrowse.format.entries import Header
    from sessionbrowse.model.session.records import is_workflow_stage

    header = decode_line(line)
    return isinstance(header, Header) and is_workflow_stage(header)


def _line(head: bytes, at: int) -> bytes:
    end = head.find(b"\n", at)
    return head[at : end if end >= 0 else len(head)]
