"""What the model would receive at an entry, to read: messages in order, and what is left out where it would stand."""

from __future__ import annotations

from collections.abc import Sequence

from sessionbrowse import text
from sessionbrowse.format.entries import BranchSummary, Compaction
from sessionbrowse.model.context import Context, ContextMessage, LeftOut
from sessionbrowse.text import clean
from sessionbrowse.tui.messages import message_heading, message_parts
from sessionbrowse.tui.parts import FittedPart, LazyPart, LinePart, Part
from sessionbrowse.tui.render import plural
from sessionbrowse.tui.spans import Line
from sessionbrowse.tui.texts import Reading, said_parts

READING = Reading(lines=40, output_lines=12)
KINDS = ("system", "summary", "user", "assistant", "tool", "other")
KIND_ROLES = {
    "system": "note",
    "summary": "branch",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "other": "dim",
}
_KIND_OF_ROLE = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "toolResult": "tool",
    "bashExecution": "tool",
    "pythonExecution": "tool",
    "compactionSummary": "summary",
    "branchSummary": "summary",
}


def context_parts(context: Context) -> list[Part]:
    """Return the document of a context."""
    model = context.model
    name = "/".join([clean(part) for part in (model.provider, model.model_id) if part]) if model is not None else ""
    head: Line = [
        (f"~{text.tokens(context.tokens)} tokens", "title"),
        (" estimated", "dim"),
        (f" · {name}" if name else " · no model chosen yet", "dim"),
        (f" · thinking {clean(context.thinking_level)}" if context.thinking_level else "", "dim"),
    ]
    sent = sum([message.sent for message in context.messages])
    counts = f"{plural(sent, 'message')} to the model, {plural(len(context.left_out), 'entry', 'entries')} left out"
    parts: list[Part] = [LinePart(head), LinePart([(counts, "dim")])]
    if context.tokens:
        parts.append(FittedPart(lambda width: window_bar(context, width)))
        parts.append(LinePart(legend(context)))
    parts.append(LinePart([]))
    if not context.messages and not context.left_out:
        parts.append(LinePart([("Nothing: the path to this entry is empty.", "dim italic")]))
    for item in in_order(context):
        if isinstance(item, ContextMessage):
            parts.append(_message_part(item))
        else:
            parts += left_out_parts(item)
    return parts


def in_order(context: Context) -> list[ContextMessage | list[LeftOut]]:
    """Return messages and groups of what is left out, each where its entry stands on the path."""
    at = {left.index: left for left in context.left_out}
    order = sorted(at)
    items: list[ContextMessage | list[LeftOut]] = []
    position = 0
    highest = -1
    for message in context.messages:
        index = message.index
        # A compaction's summary comes first in the list though its entry is younger: it must not pull others along.
        if index is not None and index > highest and not isinstance(message.message, Compaction):
            highest = index
            group: list[LeftOut] = []
            while position < len(order) and order[position] < index:
                group.append(at[order[position]])
                position += 1
            if group:
                items.append(group)
        items.append(message)
    rest = [at[index] for index in order[position:]]
    return [*items, rest] if rest else items


def left_out_parts(group: Sequence[LeftOut]) -> list[Part]:
    """Return a line for each reason why entries between two messages are left out."""
    counts: dict[str, int] = {}
    for left in group:
        counts[left.reason] = counts.get(left.reason, 0) + 1
    parts: list[Part] = [
        LinePart([("▒ ", "faint"), (f"{plural(count, 'entry', 'entries')}: {clean(reason)}", "faint")], indent=2)
        for reason, count in counts.items()
    ]
    return [*parts, LinePart([])]


def _message_part(message: ContextMessage) -> Part:
    return LazyPart(lambda: message_block(message), about=5)


def message_block(message: ContextMessage) -> list[Part]:
    """Return one message with its heading."""
    body = message.message
    size: Line = [(f"  {text.tokens(message.tokens)}", "faint")]
    if not message.sent:
        size = [("  in the list, but not sent", "warning")]
    if isinstance(body, Compaction | BranchSummary):
        sign = "∑ compaction summary" if isinstance(body, Compaction) else "⌥ branch summary"
        return [LinePart([(sign, "branch strong"), *size]), *said_parts(message.text, READING), LinePart([])]
    name, roles = message_heading(body)
    return [LinePart([(f"● {name}", f"{roles} strong"), *size]), *message_parts(body, READING), LinePart([])]


def kind_of(message: ContextMessage) -> str:
    """Return to which part of the window a message counts."""
    return _KIND_OF_ROLE.get(message.role, "other")


def tokens_by_kind(context: Context) -> list[tuple[str, int]]:
    """Return the tokens of each part of the window that has any."""
    totals = dict.fromkeys(KINDS, 0)
    for message in context.messages:
        totals[kind_of(message)] += message.tokens
    return [(kind, count) for kind, count in totals.items() if count]


def window_bar(context: Context, width: int) -> Line:
    """Return a bar that shows what fills the window, each part as wide as its share."""
    shares = tokens_by_kind(context)
    total = sum([count for _, count in shares])
    line: Line = []
    used, seen = 0, 0
    for number, (kind, count) in enumerate(shares):
        seen += count
        end = width if number == len(shares) - 1 else round(seen * width / total)
        # Neighbours differ in shade as well as in colour.
        line.append(("█▓"[number % 2] * max(0, end - used), KIND_ROLES[kind]))
        used = max(used, end)
    return line


def legend(context: Context) -> Line:
    """Return what the parts of the bar are."""
    line: Line = []
    for number, (kind, count) in enumerate(tokens_by_kind(context)):
        line += [
            ("  " if line else "", ""),
            ("█▓"[number % 2], KIND_ROLES[kind]),
            (f" {kind} {text.tokens(count)}", "dim"),
        ]
    return line
