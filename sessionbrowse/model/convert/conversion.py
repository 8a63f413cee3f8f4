"""Convert a session to another agent's format: its whole tree with labels and name, and a list of losses.

A line that is the same in both formats is copied byte for byte. The result depends only on the source: converting again
gives the same entries with the same ids, so that new entries can be added to an earlier conversion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice, pairwise

from msgspec import Struct

from sessionbrowse.format.json_value import Json, json_bytes, json_line, json_object
from sessionbrowse.format.lines import line_blocks
from sessionbrowse.format.title_slot import Source, parse_slot, slot_line
from sessionbrowse.model.clean.odd_fields import NO_USAGE, mended_entry
from sessionbrowse.model.convert import atomic, omp
from sessionbrowse.model.convert.carried import (
    TARGETS,
    Entry,
    ReadImage,
    Rule,
    TargetAgent,
    kept_original,
    marked,
    message_of,
    new_entry,
    notes_of,
    own_fields,
    text_of,
)
from sessionbrowse.model.convert.losses import Loss, LossCount, add_context_losses
from sessionbrowse.model.fork import title_source
from sessionbrowse.model.listing.summary import joined_text
from sessionbrowse.model.session.parents import CHECKOUT_TYPE, ROOT
from sessionbrowse.model.session.records import CONVERSION_KEY, is_workflow_stage
from sessionbrowse.model.session.rules import ATOMIC_ONLY_TYPES, OMP_ONLY_TYPES, RULES
from sessionbrowse.model.session.session import Session, build_session

_LOST_IMAGE = f'"{omp.LOST_IMAGE}":'.encode()
_TITLE_CHARACTERS = 100
_HANGS = "hangs on this file: the parents of some entries form a loop"
_SIGNATURES = frozenset({"thinkingSignature", "textSignature", "thoughtSignature"})
_TOOLS: Mapping[str, str] = {
    "pi": "read bash edit write grep find ls",
    "omp": "read bash edit write grep find ls glob search task todo ask lsp eval web_search",
    "atomic": "read bash edit write find search ask_user_question todo subagent workflow",
}
_INERT = {
    "omp": OMP_ONLY_TYPES - {"model_usage", "reset_boundary", "title_change"},
    "atomic": ATOMIC_ONLY_TYPES,
}
"""For each source agent, the entry types that are kept for converting back, but have no effect in another agent."""


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
    left: Mapping[str, int] | None = None,
) -> Converted:
    """Return the entries of a session in the format of another agent.

    `raws` are the lines of its entries in format version 3, in file order; with `until`, only entries before that index
    are converted. `read_image` reads images from omp's blob store. `drop_signatures` drops the reasoning of all answers
    that have other content, and their signatures. `left` counts other things that are not carried, by kind of loss.
    """
    count = LossCount()
    for kind, number in (left or {}).items():
        count.add(kind, count=number)
    # omp refuses to rewrite a file whose size differs from that of its decoded text.
    whole = [raw.strip().decode("utf-8", "replace").encode() for raw in islice(raws, until)]
    pairs = [(raw, value) for raw in whole if (value := json_object(raw)) is not None]
    count.add("damaged_line", count=len(whole) - len(pairs))
    raw_of = {id(value): raw for raw, value in pairs}
    entries = [value for _, value in pairs]
    count_losses(session, entries, target, count)
    title, source = _title(session, entries)
    if target == "omp":
        entries = omp.without_name_lines(entries)
        whole_title, title = title, _cut(title, source)
        count.add("title", count=len(whole_title) - len(title))
    for here, there in pairwise(dict.fromkeys((session.agent, "pi", target))):
        entries = [_carried(session, one, here, there, read_image, count) for one in entries]
    known: dict[str, str] = {}
    if drop_signatures:
        entries = [_without_reasoning(one, known, count) for one in entries]
    if target != "omp" and (until is None or not session.is_transcript):
        infos = [json_line(one) for one in entries if one.get("type") == "session_info"]
        entries += _last_entries(session, entries, source, session_of(infos, target).name or "")
    lines = tuple([(raw_of.get(id(one)) or json_bytes(one)) + b"\n" for one in entries])
    if session.agent == "omp":
        lost = [str(one.get("id")) for one, line in zip(entries, lines, strict=True) if _LOST_IMAGE in line]
        known |= dict.fromkeys(lost, "missing_image")
    made = session_of(lines, target, title, source)
    add_context_losses(session, made, count, known, until)
    refusal = _HANGS if target != "omp" and _has_loop(made) else made.refusal
    return Converted(lines=lines, title=title, title_source=source, losses=count.losses(), refusal=refusal)


def _has_loop(session: Session) -> bool:
    by_id, entries = session.index_by_id, session.envelopes
    # A session's parents differ from those that its entries name only where a loop was cut.
    return session.parents != [ROOT if one.parent_id is None else by_id.get(one.parent_id, ROOT) for one in entries]


def session_of(lines: Iterable[bytes], target: str, title: str = "", source: Source | None = None) -> Session:
    """Parse converted lines into a session as the target agent would."""
    slot = slot_line(title, source, "") if target == "omp" else b""
    content = b"".join([slot, json_line({"type": "session", "version": 3, "id": "made", "cwd": "/"}), *lines])
    return build_session(
        line_blocks([content]), RULES[target], "/made.jsonl", lambda offset, size: content[offset : offset + size]
    )


def count_losses(session: Session, entries: Iterable[Entry], target: TargetAgent, into: LossCount) -> None:
    """Count the losses that follow from single entries and the header, without comparing contexts."""
    calls: set[str] = set()
    for one in entries:
        message, entry_id = message_of(one), one.get("id")
        content = message.get("content")
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        calls |= {str(block.get("name")) for block in blocks if block.get("type") == "toolCall"}
        is_signed = any(block.get("type") == "redactedThinking" or block.keys() & _SIGNATURES for block in blocks)
        into.add("signature", entry_id, is_signed)
        into.add("full_output", entry_id, target == "omp" and bool(message.get("fullOutputPath")))
        into.add("output_file", entry_id, bool(message.get("outputFile")))
        into.add(text_of(one, "type"), entry_id, text_of(one, "type") in _INERT.get(session.agent, ()))
    into.add("tools", count=len(calls - {*_TOOLS[target].split()}))
    header = session.header
    if header is not None:
        offsets = set(session.offsets)
        into.add("directories", count=len(header.additional_directories or ()))
        into.add("parent_session", count=bool(header.parent_session))
        into.add("workflow", count=session.agent == "atomic" and is_workflow_stage(header))
        into.add("damaged_line", count=sum(one.offset not in offsets for one in session.problems))


# ---- one entry -----------------------------------------------------------------------------------------------


def _carried(session: Session, entry: Entry, here: str, there: str, read: ReadImage, count: LossCount) -> Entry:
    """Convert an entry of a session from the format of the agent `here` to that of `there`, with all that it needs.

    An original that an earlier conversion stored comes back as it was. If the converted entry could not be converted
    back, the entry is stored in it, unless no session comes back to the program that made it.
    """
    if session.is_transcript and here == session.agent:
        base = {"type": "message", "id": entry.get("id"), "parentId": entry.get("prev"), "timestamp": entry.get("at")}
        entry = base | {"message": entry.get("message")}
    kept = kept_original(entry, there)
    if kept is not None:
        return omp.with_images(kept, read) if there == "pi" else kept
    bare = _RULES.get((here, there), _unchanged)(entry, read)
    made = _mended(bare, there)
    if made is not bare:
        count.add("made_whole", entry.get("id"))
    back = _mended(_RULES.get((there, here), _unchanged)(made, read), here)
    # omp's own message is in the details of such an entry; only its images may be in the content.
    is_role = here == "pi" and entry.get("customType") == omp.ROLE_TYPE
    is_restored = back == entry or is_role or (here == "omp" and back == omp.inlined(entry, read))
    return made if is_restored or session.agent not in TARGETS else marked(made, here, own_fields(entry))


def _unchanged(entry: Entry, _: ReadImage) -> Entry:
    return entry


_RULES: Mapping[tuple[str, str], Rule] = {
    ("omp", "pi"): omp.to_pi,
    ("pi", "omp"): omp.from_pi,
    ("atomic", "pi"): atomic.to_pi,
    ("pi", "atomic"): atomic.from_pi,
}


def _mended(entry: Entry, agent: str) -> Entry:
    """Return an entry with the fields that an agent needs; the same object if it has all."""
    whole = mended_entry(entry, agent)
    message = message_of(whole)
    if agent != "omp" or message.get("role") != "assistant":
        return whole
    usage = _with_numbers(message.get("usage"), NO_USAGE)
    return whole if usage == message.get("usage") else {**whole, "message": {**message, "usage": usage}}


def _with_numbers(given: Json, zeros: Entry) -> Entry:
    """Return an object with a number for each key of `zeros`: omp adds them up, and one missing makes all sums NaN."""
    known: Entry = given if isinstance(given, dict) else {}
    return known | {
        key: _with_numbers(known.get(key), zero) if isinstance(zero, dict) else zero
        for key, zero in zeros.items()
        if isinstance(zero, dict) or type(known.get(key)) not in (int, float)
    }


def _without_reasoning(entry: Entry, known: dict[str, str], count: LossCount) -> Entry:
    """Return an answer without reasoning and signatures; an answer that has only reasoning is unchanged."""
    message = message_of(entry)
    content = message.get("content")
    if message.get("role") != "assistant" or not isinstance(content, list):
        return entry
    bare = [
        {key: value for key, value in one.items() if key not in _SIGNATURES} if isinstance(one, dict) else one
        for one in content
        if not isinstance(one, dict) or one.get("type") not in ("thinking", "redactedThinking")
    ]
    if not bare or bare == content:
        return entry
    count.add("reasoning", entry.get("id"))
    known[str(entry.get("id"))] = "reasoning"
    # An earlier conversion may have stored the original, from which dropped reasoning would come back.
    kept = {key: value for key, value in entry.items() if key != CONVERSION_KEY}
    return {**kept, "message": {**message, "content": bare}}


# ---- the session's name and leaf -----------------------------------------------------------------------------


def _title(session: Session, entries: list[Entry]) -> tuple[str, Source | None]:
    """Return the session's name, and who chose it ("user" or "auto"), None if the session has no name.

    For a session of another program without a name, the name is its first prompt: omp's list would show none.
    """
    is_foreign = session.rules.only_read is not None
    if not session.name and not is_foreign:
        return "", None
    last = next((one for one in reversed(entries) if one.get("type") == "session_info"), {})
    is_auto = is_foreign or "auto" in (title_source(session), notes_of(last).get("title"))
    return session.name or _first_prompt(session), "auto" if is_auto else "user"


def _first_prompt(session: Session) -> str:
    prompts = [at for at, one in enumerate(session.envelopes) if one.role == "user"]
    texts = (" ".join(joined_text(session.raw(at)).split()) for at in prompts)
    return next(filter(None, texts), "")[:_TITLE_CHARACTERS]


def _cut(title: str, source: Source | None) -> str:
    """Return the part of a title that fits into omp's title slot."""
    slot = parse_slot(slot_line(title, source, "2026-01-01T00:00:00.000Z"))
    return slot.title or "" if slot is not None else ""


def _last_entries(session: Session, entries: list[Entry], source: Source | None, named: str) -> list[Entry]:
    """Return an entry that gives entries, which name the session `named`, its name, or sets a transcript's leaf."""
    last, wanted, leaf = entries[-1] if entries else {}, session.name or "", session.leaf_id
    if wanted not in (named, _cut(named, source)):
        return [omp.name_line(wanted, source, last.get("id"), last.get("timestamp"), session.id or "")]
    if not session.is_transcript or leaf in (None, last.get("id")):
        return []
    own = {"type": "custom", "customType": CHECKOUT_TYPE, "data": {"checkout": leaf}}
    return [new_entry(f"leaf {leaf}\0", leaf, last.get("timestamp"), own)]
