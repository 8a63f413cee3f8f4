"""Build the documents of one entry, of the entry's raw line in the file, and of the preview of a session."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from sessionbrowse import text
from sessionbrowse.format.codec import type_name, unknown_keys
from sessionbrowse.format.entries import (
    AssistantMessage,
    BranchSummary,
    Compaction,
    Custom,
    CustomMessage,
    Entry,
    EntryBase,
    Label,
    MessageEntry,
    ModelChange,
    PlainEntry,
    SessionInfoEntry,
    SessionSummary,
    ThinkingLevelChange,
    ToolCallBlock,
    ToolResultMessage,
    TranscriptNode,
    UnknownEntry,
    Usage,
)
from sessionbrowse.model.context.build import build
from sessionbrowse.model.context.forgotten import forgotten
from sessionbrowse.model.listing.directories import missing_word
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.session.session import ROOT, Session
from sessionbrowse.model.tree.row_text import caller_of
from sessionbrowse.model.usage.request import price_of
from sessionbrowse.store.read.content import read_output
from sessionbrowse.text import clean, plural
from sessionbrowse.tui.layout.highlight import style_json
from sessionbrowse.tui.layout.markdown import markdown_parts
from sessionbrowse.tui.layout.parts import (
    EntryLink,
    FactPart,
    FittedPart,
    Fold,
    ItemsPart,
    LazyPart,
    LinePart,
    Part,
    text_parts,
    warm,
)
from sessionbrowse.tui.paint.spans import GLYPHS, Line, fit, one_line, project_name, status_words
from sessionbrowse.tui.reading.messages import call_parts, content_parts, message_heading, message_parts
from sessionbrowse.tui.reading.texts import BAR, Detail, extra_parts, json_hint, output_parts, pretty_json, value_parts

RESULT_DISTANCE = 400
"""Maximum number of entries after a tool call that are searched for the call's result."""

PREVIEW_DETAIL = Detail(lines=12, output_lines=6, thinking_lines=2, foldable=False)
END_DETAIL = Detail(lines=4, output_lines=2, foldable=False)
LEAST_WITH_END = 6
"""A conversation with at least this many messages is previewed with its last messages first."""
ENTRY_OUTPUT_LINES = 20
"""When an entry with tool calls is shown, arguments and results with more lines than this are partly folded."""


def rule(label: str = "", roles: str = "dim") -> Part:
    """Return a horizontal line across the pane, with an optional label."""

    def make(width: int) -> Line:
        if not label:
            return [("─" * width, "rule")]
        return [("── ", "rule"), (label, roles), (" " + "─" * max(0, width - len(label) - 4), "rule")]

    return FittedPart(make)


def fact(key: str, value: Line, *, width: int = 9) -> Part:
    """Return a line with the name of a fact about an entry, such as `model`, and its value."""
    return FactPart([(f"{key:<{width}} ", "dim"), *value], indent=width + 1)


# ---- an entry -------------------------------------------------------------------------------------------------


def entry_document(session: Session, index: int, now_ms: float) -> list[Part]:
    """Return the document of one entry: facts such as its role, age and label, then its content."""
    entry = session.entry(index)
    return [*entry_heading(session, index, entry, now_ms), rule(), *entry_body(session, index, entry)]


def entry_heading(session: Session, index: int, entry: Entry, now_ms: float) -> list[Part]:
    """Return the lines above an entry's content: role, age, model, cost, label, and problems of the entry."""
    envelope = session.envelopes[index]
    kind: Line = [(clean(type_name(entry)).replace("_", " ") or "(no type)", "title")]
    message = entry.message if isinstance(entry, MessageEntry | TranscriptNode) else None
    if message is not None:
        name, roles = message_heading(message)
        kind = [(name, f"{roles} strong")]
    kind.append((f"  {_age_of(envelope.timestamp, now_ms)}", "dim"))
    if isinstance(message, AssistantMessage):
        kind += _answer_facts(message)
    mark = session.labels.get(index)
    if mark is not None:
        kind.append((f"   ⚑ {clean(mark.text)}", "label strong"))
    if index == session.leaf:
        # The no-break space keeps arrow and word on one line.
        kind.append(("   ←\u00a0leaf", "accent"))
    parts: list[Part] = [FactPart(kind, indent=2)]
    if session.parents[index] == ROOT and envelope.parent_id is not None:
        parts.append(fact("parent", [(clean(envelope.parent_id), "warning"), ("  entry not found", "warning")]))
    for problem in session.problems:
        if problem.line == session.lines[index]:
            parts.append(fact("problem", [(clean(problem.reason), "error")]))
    return parts


def _answer_facts(message: AssistantMessage) -> Line:
    """Return model, thinking level, output tokens and cost of an assistant message, as short texts.

    The reason why the model stopped is added unless it finished normally or called a tool.
    """
    usage = message.usage
    facts = [
        clean(message.model or ""),
        f"thinking {clean(message.thinking_level)}" if message.thinking_level else "",
        f"{text.tokens(usage.output)} out" if usage is not None and usage.output else "",
        _cost_of(usage),
    ]
    line: Line = [(f" · {fact}", "dim") for fact in facts if fact]
    if message.stop_reason not in (None, "stop", "toolUse"):
        line.append((f" · ended: {clean(message.stop_reason)}", "warning"))
    return line


def _age_of(timestamp: str | float | None, now_ms: float) -> str:
    moment = text.time_ms(timestamp)
    if moment is None or not text.is_time(moment):
        return "no time" if timestamp is None else f"{clean(str(timestamp))[:40]}: not a time"
    return text.age(moment, now_ms)


def usage_line(usage: Usage) -> Line:
    """Return a line with the numbers of input, output and cached tokens of an entry, and their cost."""
    kinds = (
        ("in", usage.input),
        ("out", usage.output),
        ("cache read", usage.cache_read),
        ("cache write", usage.cache_write),
    )
    counts = " · ".join([f"{text.tokens(count)} {word}" for word, count in kinds if count])
    cost = _cost_of(usage)
    return [(counts or "none", ""), (f"   {cost}" if cost else "", "good")]


def _cost_of(usage: Usage | None) -> str:
    """Return the cost of an entry; "" if the program recorded none, "not priced" if it cannot be right."""
    total = usage.cost.total if usage is not None and usage.cost is not None else None
    price = price_of(total)
    return text.cost(price) if price else "not priced" if total else ""


def entry_body(session: Session, index: int, entry: Entry) -> list[Part]:
    """Return the content of an entry as document parts, according to the entry's type."""
    detail = Detail(output_lines=ENTRY_OUTPUT_LINES, results=lambda call_id: find_result(session, index, call_id))
    match entry:
        case MessageEntry():
            if entry.message is None:
                return [LinePart([("The message is missing.", "error")]), *extra_parts(unknown_keys(entry))]
            return _message_body(session, index, entry, detail)
        case TranscriptNode():
            body = message_parts(entry.message, detail) if entry.message is not None else []
            return [*body, *extra_parts(unknown_keys(entry))]
        case UnknownEntry():
            sentence = "sessionbrowse does not know this type of entry. Its content:"
            return [LinePart([(sentence, "dim")]), *value_parts(entry.raw, detail)]
        case Compaction():
            parts = _compaction_body(session, index, entry)
        case BranchSummary():
            head = fact("left at", [(clean(entry.from_id or "?"), "")])
            parts = [head, LinePart([]), *markdown_parts(entry.summary or ""), *_usage_part(entry.usage)]
        case CustomMessage():
            shown = fact("kind", [(clean(entry.custom_type or "?"), "note")])
            parts = [shown, LinePart([]), *content_parts(entry.content, detail), *_details(entry.details)]
        case Custom():
            shown = fact("kind", [(clean(entry.custom_type or "?"), "note")])
            parts = [shown, *value_parts(entry.data, detail)]
        case Label():
            parts = _label_body(session, entry)
        case SessionInfoEntry():
            name: Line = [(clean(entry.name), "title")] if entry.name else [("cleared", "dim")]
            parts = [fact("name", name)]
        case SessionSummary():
            parts = [*markdown_parts(entry.summary or ""), *_usage_part(entry.usage)]
        case ModelChange():
            model = "/".join([clean(part) for part in (entry.provider, entry.model_id or entry.model) if part])
            parts = [fact("model", [(model or "?", "title")])]
        case ThinkingLevelChange():
            parts = [fact("thinking", [(clean(entry.thinking_level or "not set"), "title")])]
        case _:
            return _fields_body(entry)
    others = extra_parts(unknown_keys(entry))
    return [*parts, LinePart([]), *others] if others else parts


def _message_body(session: Session, index: int, entry: MessageEntry, detail: Detail) -> list[Part]:
    message = entry.message
    assert message is not None
    parts: list[Part] = []
    if isinstance(message, ToolResultMessage):
        call = find_call(session, index, message.tool_call_id) if message.tool_call_id is not None else None
        parts += call_parts(call, Detail(), message) if call is not None else message_parts(message, Detail())
        parts += [*_details(message.details), *_whole_output(session, message)]
    else:
        own = detail if isinstance(message, AssistantMessage) else Detail()
        parts += message_parts(message, own)
    parts += extra_parts(unknown_keys(message))
    return [*parts, *extra_parts(unknown_keys(entry))]


def _compaction_body(session: Session, index: int, entry: Compaction) -> list[Part]:
    parts = []
    if entry.tokens_before is not None:
        parts.append(fact("before", [(f"{text.tokens(entry.tokens_before)} tokens", "")]))
    kept, covered = entry.first_kept_entry_id, entry.provider_replay_through_entry_id
    keeps = f"from {clean(kept)} on" if kept else f"entries after {clean(covered)}" if covered else "nothing before it"
    parts.append(fact("keeps", [(keeps, "")]))
    return [
        *parts,
        *forgotten_parts(session, index),
        LinePart([]),
        *markdown_parts(entry.summary or ""),
        *_usage_part(entry.usage),
        *_details(entry.details),
    ]


def _label_body(session: Session, entry: Label) -> list[Part]:
    label: Line = [(f"⚑ {clean(entry.label)}", "label strong")] if entry.label else [("cleared", "dim")]
    known = entry.target_id in session.index_by_id if entry.target_id is not None else False
    target: Line = [(clean(entry.target_id or "?"), "")]
    if not known:
        target.append(("  entry not found", "warning"))
    return [fact("label", label), fact("on entry", target)]


_BASE_FIELDS = frozenset(field.name for field in msgspec.structs.fields(PlainEntry))


def _fields_body(entry: EntryBase) -> list[Part]:
    """Return the fields that are specific to the entry's type, with their names in the file and their values."""
    fields = [field for field in msgspec.structs.fields(type(entry)) if field.name not in _BASE_FIELDS]
    own = {field.encode_name: getattr(entry, field.name) for field in fields}
    if isinstance(entry, PlainEntry):
        own = entry.extra
    parts: list[Part] = []
    for name, value in own.items():
        if value is None:
            continue
        if isinstance(value, str) and "\n" not in value and len(value) < 200:
            parts.append(fact(clean(name), [(clean(value), "")], width=14))
        else:
            parts += [LinePart([(clean(name), "dim")]), *value_parts(value, Detail())]
    if not isinstance(entry, PlainEntry):
        parts += extra_parts(unknown_keys(entry))
    return parts or [LinePart([("(nothing else)", "dim italic")])]


def _usage_part(usage: Usage | None) -> list[Part]:
    return [LinePart([]), fact("tokens", usage_line(usage))] if usage is not None else []


def _details(details: Any) -> list[Part]:
    if details in (None, {}, []):
        return []
    shown = Fold([("details", "dim")], lambda: value_parts(details, Detail(), prefix=BAR), hint=json_hint(details))
    return [LinePart([]), shown]


def _whole_output(session: Session, message: ToolResultMessage) -> list[Part]:
    name = message.extra.get("outputFile")
    if not isinstance(name, str):
        return []
    found = read_output(session.path, name)
    if found is None:
        return [
            LinePart([]),
            LinePart([(f"The file with the whole output, {clean(name)}, cannot be read.", "warning")]),
        ]
    shown = Fold([("whole output", "dim")], partial(output_parts, found, Detail(), prefix=BAR), hint=clean(name))
    return [LinePart([]), shown]


def _time(timestamp: str | float | None, now_ms: float) -> Line:
    if timestamp is None:
        return [("none", "warning")]
    moment = text.time_ms(timestamp)
    if moment is None or not text.is_time(moment):
        return [(clean(str(timestamp)), "warning"), ("  not a time", "warning")]
    iso = text.iso_ms(moment)
    return [(f"{iso[:10]} {iso[11:19]} UTC", ""), (f"  {text.age(moment, now_ms)}", "dim")]


def find_result(session: Session, index: int, call_id: str) -> ToolResultMessage | None:
    """Return the result of the tool call `call_id` in the entry at `index`; None if it is not soon after the entry."""
    for later in range(index + 1, min(len(session.ids), index + RESULT_DISTANCE)):
        if session.envelopes[later].role == "toolResult" and session.envelopes[later].tool_call_id == call_id:
            entry = session.entry(later)
            if isinstance(entry, MessageEntry) and isinstance(entry.message, ToolResultMessage):
                return entry.message
    return None


def find_call(session: Session, index: int, call_id: str) -> ToolCallBlock | None:
    """Return the tool call to which the tool result in the entry at `index` belongs; None if the call is not found."""
    caller = caller_of(session, call_id)
    entry = session.entry(caller) if caller is not None else None
    message = entry.message if isinstance(entry, MessageEntry | TranscriptNode) else None
    content = message.content if isinstance(message, AssistantMessage) else None
    calls = [block for block in content if isinstance(block, ToolCallBlock)] if isinstance(content, tuple) else []
    return next((call for call in calls if call.id == call_id), None)


# ---- the raw line ---------------------------------------------------------------------------------------------


def raw_document(session: Session, index: int, now_ms: float) -> list[Part]:
    """Return the document of an entry's line in the session file (or its translation), indented if it is valid JSON."""
    envelope, parent = session.envelopes[index], session.parents[index]
    identity = clean(envelope.id) if envelope.id is not None else "(no id)"
    above = clean(session.ids[parent] or "(no id)") if parent != ROOT else "none: a root"
    line = session.raw(index)
    place = f"line {session.lines[index]:,} · byte {session.offsets[index]:,} · {text.size(len(line))}"
    if session.rules.only_read:
        place = f"made of {session.rules.only_read}'s own records, as pi would write them"
    facts = [
        fact("id", [(identity, ""), ("   parent ", "dim"), (above, "dim")]),
        fact("time", _time(envelope.timestamp, now_ms)),
        fact("place", [(place, "dim")]),
    ]
    return [*facts, LinePart([]), *text_parts(pretty_json(line), styler=style_json, hang=True)]


# ---- a session ------------------------------------------------------------------------------------------------


def summary_parts(
    summary: Summary,
    home: str,
    now_ms: float,
    *,
    exists: bool | None = None,
    family: Line | None = None,
    machine: str = "",
) -> list[Part]:
    """Return the lines at the top of a session's preview: name, agent, age, directory, counts, cost, problems.

    `exists` is False if the session's working directory is missing. `family` is a line about related sessions,
    `machine` is a text that says when the session's machine was last seen.
    """
    title = one_line(summary.name or "") or one_line(summary.first_message or "", 200) or "(no messages)"
    parts: list[Part] = [LinePart([(title, "title")])]
    glyph: Line = [(f"{GLYPHS.get(summary.agent, '·')} ", summary.agent), (summary.agent, "")]
    age = text.age(summary.modified, now_ms)
    before = [*glyph, *status_words(summary)]
    parts.append(ItemsPart([age, *([clean(summary.model)] if summary.model else [])], before=before))
    name, above = project_name(summary.own_cwd, home) if summary.own_cwd else ("(no directory)", "")
    missing = f"  {missing_word(summary.cwd)}" if exists is False else ""
    parts.append(LinePart([(f"{above}/" if above else "", "dim"), (name, ""), (missing, "warning")]))
    if summary.machine is not None:
        parts.append(LinePart([("@", "accent"), (clean(machine or summary.machine), "dim")]))
    counts = [plural(summary.message_count, "message")]
    if summary.branch_count > 1:
        counts.append(plural(summary.branch_count, "branch", "branches"))
    if summary.label_count:
        counts.append(plural(summary.label_count, "label"))
    if summary.tokens:
        counts.append(f"{text.tokens(summary.tokens)} tokens")
    if summary.cost:
        counts.append(text.cost(summary.cost))
    counts.append(text.size(summary.bytes))
    parts.append(ItemsPart(counts))
    if family is not None:
        parts.append(LinePart(family))
    if summary.copy_of is not None:
        parts.append(LinePart([("conflict copy of ", "warning"), (clean(summary.copy_of), "dim")]))
    if summary.parent_session is not None:
        found = "" if summary.parent_path else "  (not found)"
        # The parent session's file is usually in the same directory, so its name without the path is enough.
        parent = clean(summary.parent_session.rstrip("/").rsplit("/", 1)[-1])
        how = "↳ started by " if summary.hidden else "↳ forked from "
        parts.append(LinePart([(how, "branch"), (parent, "dim"), (found, "warning")]))
    if summary.left_behind:
        sentence = (
            f"The newest message is not on the branch where {summary.agent} resumes. "
            "When you resume, you can choose the branch of the newest message."
        )
        parts.append(LinePart([("↯ ", "warning"), (sentence, "")], indent=2))
    if summary.problem is not None:
        parts.append(LinePart([("✗ ", "error"), (clean(summary.problem), "error")]))
    return parts


def conversation(session: Session, summary: Summary) -> list[Part]:
    """Return the lower part of a session's preview: problems of its file, then the messages of its active branch.

    A longer conversation begins with its last messages, which tell where it was left. Messages are read when they
    become visible.
    """
    parts: list[Part] = []
    if session.refusal is not None and summary.problem is None:
        parts.append(LinePart([("✗ ", "error"), (clean(f"{session.agent} {session.refusal}"), "error")]))
    for problem in session.problems[:3]:
        parts.append(LinePart([(f"✗ line {problem.line:,}: ", "error"), (clean(problem.reason), "dim")]))
    if len(session.problems) > 3:
        parts.append(LinePart([(f"  and {len(session.problems) - 3:,} more problems", "dim")]))
    branch = session.active_branch()
    shown = [index for index in branch if is_talk(session, index)]
    if not shown:
        return [*parts, rule(), LinePart([("The active branch holds no messages.", "dim italic")])]
    if is_long := len(shown) >= LEAST_WITH_END:
        # A note at the end, such as that of `/exit` in Claude Code, would be shown instead of the last answer.
        said = [index for index in shown[1:] if session.envelopes[index].type != "custom_message"] or shown[-1:]
        asked = [index for index in said[:-1] if session.envelopes[index].role == "user"]
        parts += [rule("the end"), *[_talk_part(session, index, END_DETAIL) for index in (*asked[-1:], said[-1])]]
    parts.append(rule("from the beginning" if is_long else ""))
    for before, index in zip([None, *shown], shown, strict=False):
        parts.append(_talk_part(session, index, continues=_continues(session, before, index)))
    warm(parts)
    return parts


def is_talk(session: Session, index: int) -> bool:
    """Return True if previews and comparisons of branches show the entry: a message or a summary.

    System messages and tool results are excluded; results are shown with their tool calls.
    """
    kind = session.envelopes[index]
    if kind.type == "message":
        return kind.role not in ("toolResult", "system")
    return kind.type in ("compaction", "branch_summary", "custom_message")


def _continues(session: Session, before: int | None, index: int) -> bool:
    """Return True if an entry needs no heading: an assistant message without label, below another assistant message."""
    if before is None or index in session.labels:
        return False
    return session.envelopes[before].role == "assistant" == session.envelopes[index].role


def _talk_part(session: Session, index: int, detail: Detail = PREVIEW_DETAIL, *, continues: bool = False) -> Part:
    return LazyPart(lambda: talk_parts(session, index, detail, continues=continues), about=4)


def talk_parts(session: Session, index: int, detail: Detail = PREVIEW_DETAIL, *, continues: bool = False) -> list[Part]:
    """Return an entry as document parts for previews and comparisons; with `continues`, a message has no heading."""
    entry = session.entry(index)
    mark = session.labels.get(index)
    label: Line = [(f"  ⚑ {clean(mark.text)}", "label")] if mark is not None else []
    match entry:
        case MessageEntry(message=message) | TranscriptNode(message=message):
            if message is None:
                return [LinePart([("✗ the message is missing", "error")])]
            name, roles = message_heading(message)
            heading: list[Part] = [] if continues else [LinePart([(f"● {name}", f"{roles} strong"), *label])]
            return [*heading, *message_parts(message, detail), LinePart([])]
        case Compaction():
            before = f" of {text.tokens(entry.tokens_before)} tokens" if entry.tokens_before else ""
            return [LinePart([(f"∑ compaction{before}", "note strong"), *label]), LinePart([])]
        case BranchSummary():
            return [LinePart([("⌥ branch summary", "note strong"), *label]), LinePart([])]
        case CustomMessage():
            name = clean(entry.custom_type or "custom message")
            body = content_parts(entry.content, detail)
            return [LinePart([(f"● {name}", "note strong"), *label]), *body, LinePart([])]
    return []


def forgotten_parts(session: Session, index: int) -> list[Part]:
    """Return up to three folds: files, commands and labels that a compaction's summary does not mention.

    Each item is a link to its entry.
    """
    lost = forgotten(session, index, [left.index for left in build(session, index).left_out])
    kinds = (("file", lost.files), ("command", lost.commands), ("label", lost.labels))
    return [
        Fold([(f"{plural(len(found), kind)} not in the summary", "warning")], partial(_links, found))
        for kind, found in kinds
        if found
    ]


def _links(found: Sequence[tuple[str, int]]) -> list[Part]:
    def link(name: str, index: int) -> Part:
        shown = one_line(name, 300)
        return EntryLink(lambda width: fit([("  ↗ ", "accent"), (shown, "")], width), shown, index)

    return [link(name, index) for name, index in found]
