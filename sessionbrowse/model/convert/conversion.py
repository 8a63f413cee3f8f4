"""Convert a session to another agent's format: its whole tree with labels and name, and a list of losses.

A line that is the same in both formats is copied byte for byte. The result depends only on the source: converting again
gives the same entries with the same ids, so that new entries can be added to an earlier conversion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from msgspec import Struct

from sessionbrowse.format.json_value import Json, json_bytes, json_line, json_object, trim
from sessionbrowse.format.lines import line_blocks
from sessionbrowse.format.title_slot import SLOT_BYTES, Source, parse_slot, slot_line
from sessionbrowse.model.clean.odd_fields import mended_fields
from sessionbrowse.model.convert import atomic, omp
from sessionbrowse.model.convert.carried import Entry, TargetAgent, added_paths, marked, notes_of, own_fields
from sessionbrowse.model.convert.losses import Loss, LossCount, add_context_losses
from sessionbrowse.model.convert.omp import ReadImage
from sessionbrowse.model.session.parents import CHECKOUT_TYPE, ROOT, loops
from sessionbrowse.model.session.records import is_workflow_stage
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.model.session.session import Session, build_session

_NUMBERS = ("input", "output", "cacheRead", "cacheWrite", "totalTokens")
_COSTS = ("input", "output", "cacheRead", "cacheWrite", "total")
_TITLE_CHARACTERS = 100
_SIGNATURES = ("thinkingSignature", "textSignature", "thoughtSignature")
_TOOLS: Mapping[str, str] = {
    "pi": "read bash edit write grep find ls",
    "omp": "read bash edit write grep find ls glob search task todo ask lsp eval web_search",
    "atomic": "read bash edit write find search ask_user_question todo subagent workflow",
}


class Converted(Struct, frozen=True, kw_only=True):
    """The entries of a converted session (one line each, with newline), the title for omp's slot, the losses.

    `refusal` says why the target agent would refuse the converted session; None if it opens the session.
    """

    lines: tuple[bytes, ...]
    title: str
    title_source: Source | None
    losses: tuple[Loss, ...]
    refusal: str | None


def converted(
    session: Session,
    raws: Iterable[bytes],
    target: TargetAgent,
    *,
    read_image: ReadImage = lambda _: None,
    drop_signatures: bool = False,
    until: int | None = None,
) -> Converted:
    """Return the entries of a session in the format of another agent.

    `raws` are the lines of its entries in format version 3, in file order; with `until`, only entries before that index
    are converted. `read_image` reads images from omp's blob store. `drop_signatures` drops the reasoning of all answers
    that have other content, and their signatures.
    """
    count = LossCount()
    gone_images: set[str] = set()

    def image(reference: str) -> str | None:
        found = read_image(reference)
        if found is None:
            gone_images.add(reference)
        return found

    originals: list[tuple[bytes, Entry]] = []
    for raw in islice(raws, until):
        value = json_object(raw)
        if value is None:
            count.add("damaged_line")
        else:
            # omp refuses to rewrite a file whose size differs from that of its decoded text.
            originals.append((raw.strip().decode("utf-8", "replace").encode(), value))
    count_losses(session, [value for _, value in originals], target, count)
    middle = []
    without_image: set[str] = set()
    for _, value in originals:
        gone_images.clear()
        middle.append(_to_pi(session, value, image))
        if gone_images:
            without_image.add(str(value.get("id")))
    if drop_signatures:
        middle = [_without_reasoning(one, count) for one in middle]
    entries = omp.without_name_lines(middle) if target == "omp" else _named(session, middle)
    entries = _at_leaf(session, entries) if until is None else entries
    raw_of = {id(value): raw for raw, value in originals}
    marks = {id(one): value if target == "pi" else one for (_, value), one in zip(originals, middle, strict=True)}
    lines = tuple(
        [_line(one, raw_of, notes_of(marks.get(id(one), {})), session.agent, target, count) for one in entries]
    )
    title, title_source = _title(session, middle)
    if target == "omp" and not title and session.rules.only_read is not None:
        title, title_source = _first_prompt(middle), "auto"
    if target == "omp" and len(kept := _slot_title(title, title_source)) < len(title):
        count.add("title", count=len(title) - len(kept))
    made = session_of(lines, target, title, title_source)
    add_context_losses(session, made, count, without_image, until)
    refusal = made.refusal
    if target != "omp" and _has_loop(made):
        refusal = "hangs on this file: the parents of some entries form a loop"
    return Converted(lines=lines, title=title, title_source=title_source, losses=count.losses(), refusal=refusal)


def _has_loop(session: Session) -> bool:
    by_id = session.index_by_id
    named = [entry.parent_id for entry in session.envelopes]
    return bool(loops([ROOT if parent is None else by_id.get(parent, ROOT) for parent in named]))


def session_of(lines: Iterable[bytes], target: str, title: str = "", source: Source | None = None) -> Session:
    """Parse converted lines into a session as the target agent would."""
    slot = slot_line(title, source, "") if target == "omp" else b""
    content = b"".join([slot, json_line({"type": "session", "version": 3, "id": "made", "cwd": "/"}), *lines])
    return build_session(
        line_blocks([content]), RULES[target], "/made.jsonl", lambda offset, size: content[offset : offset + size]
    )


def count_losses(session: Session, entries: Iterable[Entry], target: TargetAgent, into: LossCount) -> None:
    """Count the losses that follow from single entries and the header, without comparing contexts."""
    calls: dict[str, None] = {}
    for one in entries:
        message = one.get("message")
        body: Entry = message if one.get("type") == "message" and isinstance(message, dict) else {}
        content = body.get("content")
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        calls.update({str(block.get("name")): None for block in blocks if block.get("type") == "toolCall"})
        if any(block.get("type") == "redactedThinking" or block.keys() & set(_SIGNATURES) for block in blocks):
            into.add("signature", one.get("id"))
        if target == "omp" and body.get("fullOutputPath"):
            into.add("full_output", one.get("id"))
        if body.get("outputFile"):
            into.add("output_file", one.get("id"))
        if one.get("type") in _INERT.get(session.agent, ()):
            into.add(str(one["type"]), one.get("id"))
    lacking = [name for name in calls if name not in _TOOLS[target].split()]
    if lacking:
        into.add("tools", count=len(lacking))
    header = session.header
    if header is None:
        return
    if header.additional_directories:
        into.add("directories", count=len(header.additional_directories))
    if header.parent_session:
        into.add("parent_session")
    if session.agent == "atomic" and is_workflow_stage(header):
        into.add("workflow")
    if session.problem_count:
        bad = [one for one in session.problems if one.offset not in set(session.offsets)]
        if bad:
            into.add("damaged_line", count=len(bad))


_INERT = {
    "omp": frozenset(
        ["mode_change", "service_tier_change", "session_init", "ttsr_injection", "credential_pin", "mcp_tool_selection"]
    ),
    "atomic": frozenset({"session_summary"}),
}
"""For each source agent, the entry types that are kept for converting back, but have no effect in another agent."""


def _to_pi(session: Session, value: Entry, image: ReadImage) -> Entry:
    if session.is_transcript:
        base = {"type": "message", "id": value.get("id"), "parentId": value.get("prev"), "timestamp": value.get("at")}
        return base | {"message": value.get("message")}
    if session.agent == "omp":
        return omp.to_pi(value, image)
    return atomic.to_pi(value) if session.agent == "atomic" else value


def _line(
    one: Entry, raw_of: Mapping[int, bytes], notes: Entry, source: str, target: TargetAgent, count: LossCount
) -> bytes:
    """Convert an entry of pi to a line in the target's format; add fields that the target needs.

    If `notes` show that the entry came from the target agent, it is written as it was there.
    """
    made = one
    if target != "pi":
        made = (omp.from_pi if target == "omp" else atomic.from_pi)(one)
    raw = raw_of.get(id(made))
    if raw is None:
        raw = json_bytes(made)
    whole = raw if notes.keys() & {target, "added"} else _whole(raw, made, target)
    if whole is raw:
        return raw + b"\n"
    count.add("made_whole", made.get("id"))
    value = json_object(whole) or {}
    added = added_paths(made, value)
    if target != "pi":
        is_added = added is not None and not notes_of(made)
        return json_line(marked(value, "added", added) if is_added else marked(value, "pi", own_fields(one)))
    if source in ("omp", "atomic") and not notes_of(value):
        value = marked(value, source, own_fields(omp.from_pi(one) if source == "omp" else atomic.from_pi(one)))
    return json_line(value)


def _whole(raw: bytes, value: Entry, target: str) -> bytes:
    """Add the fields that the target needs to an entry's line; return the same object if none is missing."""
    mended = mended_fields(raw, value, target)
    if mended == raw:
        mended = raw
    message = value.get("message")
    if target != "omp" or value.get("type") != "message" or not isinstance(message, dict):
        return mended
    if message.get("role") != "assistant":
        return mended
    if mended is not raw:
        value = json_object(mended) or {}
        message = value["message"]
    usage = _object(message.get("usage"))
    cost = _object(usage.get("cost"))
    # omp adds up all of these numbers; a single missing one would make every sum NaN.
    full = {**usage, **_zeros(usage, _NUMBERS), "cost": {**cost, **_zeros(cost, _COSTS)}}
    content = message.get("content")
    calls = [_with_arguments(block) for block in content] if isinstance(content, list) else []
    if full == message.get("usage") and calls == (content or []):
        return mended
    return json_bytes({**value, "message": {**message, "content": calls, "usage": full}})


def _object(value: Json) -> Entry:
    return value if isinstance(value, dict) else {}


def _with_arguments(block: Json) -> Json:
    is_short = (
        isinstance(block, dict) and block.get("type") == "toolCall" and not isinstance(block.get("arguments"), dict)
    )
    return {**block, "arguments": {}} if is_short else block


def _zeros(numbers: Entry, keys: Iterable[str]) -> Entry:
    return {
        key: 0 for key in keys if isinstance(numbers.get(key), bool) or not isinstance(numbers.get(key), int | float)
    }


def _title(session: Session, middle: Iterable[Entry]) -> tuple[str, Source | None]:
    """Return the session's name, and who chose it ("user" or "auto"), None if the session has no name."""
    if not session.name:
        return "", None
    if session.title_slot is not None:
        return session.name, "auto" if session.title_slot.source == "auto" else "user"
    if session.rules.only_read is not None:
        return session.name, "auto"
    if session.agent == "omp" and session.header is not None:
        return session.name, "auto" if session.header.title_source == "auto" else "user"
    last = next((one for one in reversed(list(middle)) if one.get("type") == "session_info"), {})
    return session.name, "auto" if notes_of(last).get("title") == "auto" else "user"


def _first_prompt(entries: Iterable[Entry]) -> str:
    """Return the first prompt in one line, as a title for omp's list, which would show none for an unnamed session."""
    for one in entries:
        message = one.get("message")
        if isinstance(message, dict) and message.get("role") == "user":
            content = message.get("content")
            blocks = content if isinstance(content, list) else [{"text": content}]
            text = " ".join(str(block.get("text") or "") for block in blocks if isinstance(block, dict))
            if text.strip():
                return " ".join(text.split())[:_TITLE_CHARACTERS]
    return ""


def _named(session: Session, entries: list[Entry]) -> list[Entry]:
    """Return entries of pi that give the session its name; add an entry with the name if they give another one."""
    last = next((one.get("name") for one in reversed(entries) if one.get("type") == "session_info"), None)
    given = trim(last) if isinstance(last, str) else ""
    wanted, source = _title(session, entries)
    if given == wanted or (session.agent == "omp" and _slot_title(given, source) == wanted):
        return entries
    parent = entries[-1].get("id") if entries else None
    time = entries[-1].get("timestamp") if entries else None
    return [*entries, omp.name_line(wanted, source, parent, time, session.id or "")]


def _slot_title(title: str, source: Source | None) -> str:
    slot = parse_slot(slot_line(title, source, "2026-01-01T00:00:00.000Z")[:SLOT_BYTES])
    return slot.title or "" if slot is not None else ""


def _at_leaf(session: Session, entries: list[Entry]) -> list[Entry]:
    """Return entries whose last one is the leaf; if a transcript's leaf is another entry, add one below the leaf."""
    if not session.is_transcript or not entries or session.leaf_id in (None, entries[-1].get("id")):
        return entries
    checkout = {"type": "custom", "customType": CHECKOUT_TYPE, "data": {"checkout": session.leaf_id}}
    made = omp.name_line("", None, session.leaf_id, entries[-1].get("timestamp"), f"leaf {session.leaf_id}")
    return [*entries, checkout | {key: made[key] for key in ("id", "parentId", "timestamp")}]


def _without_reasoning(entry: Entry, count: LossCount) -> Entry:
    """Return an answer without reasoning and signatures; an answer that has only reasoning is unchanged."""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) and message.get("role") == "assistant" else None
    if not isinstance(message, dict) or not isinstance(content, list):
        return entry
    kept = [one for one in content if not (isinstance(one, dict) and one.get("type") == "thinking")]
    if not kept:
        return entry
    bare = [
        {key: value for key, value in one.items() if key not in _SIGNATURES} if isinstance(one, dict) else one
        for one in kept
    ]
    if bare == content:
        return entry
    count.add("reasoning", entry.get("id"), context=True)
    return {**entry, "message": {**message, "content": bare}}
