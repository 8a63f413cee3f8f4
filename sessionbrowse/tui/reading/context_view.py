"""The document of an entry's context: the messages that the model would receive there, and the omitted entries."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from sessionbrowse import text
from sessionbrowse.format.entries import BranchSummary, Compaction, ToolCallBlock, ToolResultMessage
from sessionbrowse.model.context.build import Context, ContextMessage, LeftOut
from sessionbrowse.model.context.token_parts import (
    PART_WORDS,
    ContextItem,
    UsedTokens,
    context_items,
    largest_items,
    parts_of_context,
    used_tokens,
)
from sessionbrowse.model.context.token_parts import Part as TokenPart
from sessionbrowse.model.edits import path_of
from sessionbrowse.text import clean, plural
from sessionbrowse.tui.layout.parts import EntryLink, FittedPart, Fold, LazyPart, LinePart, Part, warm
from sessionbrowse.tui.paint.spans import Line, fit, one_line
from sessionbrowse.tui.reading.messages import message_heading, message_parts
from sessionbrowse.tui.reading.texts import Detail, said_parts

DETAIL = Detail(lines=40, output_lines=12)
PART_ROLES: dict[TokenPart, str] = {
    "outside": "faint",
    "system": "note",
    "summary": "branch",
    "user": "user",
    "assistant": "assistant",
    "thinking": "dim",
    "calls": "good",
    "results": "tool",
    "images": "warning",
    "other": "dim",
}
SHADES = "▤█▓▒▚▌▞▐▄▀"
"""Characters that fill the sections of the context bar, so that terminals without colours show the sections, too."""
FREE = "░"
LEAST_ITEMS, FIRST_ITEMS, MOST_ITEMS = 3, 5, 30
"""For the list of a context's largest items: minimum number, number before the fold, maximum number."""
_UNBROKEN = "\N{NO-BREAK SPACE}"


def context_parts(context: Context, window: int | None) -> list[Part]:
    """Return the document of a context: its size in tokens, its largest items, its messages, its omitted entries.

    `window` is the size of the model's context window in tokens, None if it is not known.
    """
    model = context.model
    name = "/".join([clean(part) for part in (model.provider, model.model_id) if part]) if model is not None else ""
    used = used_tokens(context)
    share = f" of {text.tokens(window)} ({_percent(used.total, window)})" if window is not None else ""
    head: Line = [
        (f"{'~' if used.estimated else ''}{text.tokens(used.total)} tokens", "title"),
        (share, "error" if window is not None and used.total > window else ""),
        (_source(used), "dim"),
        (f" · {name}" if name else " · no model chosen yet", "dim"),
        (f" · thinking {clean(context.thinking_level)}" if context.thinking_level else "", "dim"),
    ]
    sent = sum([message.sent for message in context.messages])
    counts = f"{plural(sent, 'message')} sent · {plural(len(context.left_out), 'entry', 'entries')} omitted"
    parts: list[Part] = [LinePart(head), LinePart([(counts, "dim")])]
    if context.tokens:
        shares = parts_of_context(context)
        parts.append(FittedPart(lambda width: window_bar(shares, window, width)))
        parts.append(LinePart(legend(shares, (window or 0) - used.total)))
        parts += largest_parts(context, context_items(context.messages))
    if context.note is not None:
        parts.append(LinePart([(clean(context.note), "warning")]))
    parts.append(LinePart([]))
    if not context.messages and not context.left_out:
        parts.append(LinePart([("The context is empty: the path to this entry has no messages.", "dim italic")]))
    for item in in_order(context):
        if isinstance(item, ContextMessage):
            parts.append(LazyPart(partial(message_block, item), about=5))
        else:
            parts += left_out_parts(item)
    warm(parts)
    return parts


def largest_parts(context: Context, items: Sequence[ContextItem]) -> list[Part]:
    """Return links to the entries of the largest items of a context; a fold contains the links after the first five.

    Items are messages, tool calls and tool results.
    """
    messages = {message.index: message for message in context.messages}
    results = {
        message.message.tool_call_id: message.index
        for message in context.messages
        if isinstance(message.message, ToolResultMessage) and message.index is not None
    }
    links: list[Part] = [
        _item_link(item, item.index, messages[item.index], results)
        for item in largest_items(items, MOST_ITEMS)
        if item.index is not None
    ]
    if len(links) < LEAST_ITEMS:
        return []
    first, rest = links[:FIRST_ITEMS], links[FIRST_ITEMS:]
    more: list[Part] = [Fold([(f"{plural(len(rest), 'smaller item')}", "dim")], lambda: rest)] if rest else []
    return [LinePart([("largest items (sizes are estimates)", "dim")]), *first, *more]


def _item_link(item: ContextItem, index: int, message: ContextMessage, results: Mapping[str | None, int]) -> Part:
    if item.part == "calls":
        calls = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
        about = ", ".join(map(_call_words, calls))
        # The link of a tool call leads to the entry of its result, because the tree shows both in the result's row.
        index = next((results[call.id] for call in calls if call.id in results), index)
    else:
        about = item.file or f"{item.tool or ''} {message.text[:200]}"
    size, part = f"{text.tokens(item.tokens):>6} ", PART_WORDS.get(item.part, item.part)
    line: Line = [
        ("↗ ", "accent"),
        (size, ""),
        (f"{part:<13}", PART_ROLES[item.part]),
        (one_line(about.strip(), 200), "dim"),
    ]
    return EntryLink(lambda width: fit(line, width), "".join([piece for piece, _ in line]), index)


def _call_words(call: ToolCallBlock) -> str:
    """Return a tool call as short text: the tool's name, and the path or command from its arguments."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    command = arguments.get("command")
    given = path_of(arguments) or (command if isinstance(command, str) else "")
    return f"{call.name or 'tool'} {given[:100]}".strip()


def _source(used: UsedTokens) -> str:
    """Return a note on the source of the context's size: the usage that the last answer reported, or an estimate."""
    if used.outside is None:
        return " estimated"
    after = f" + ~{text.tokens(used.estimated)} estimated after it" if used.estimated else ""
    more = f" · parts estimated at {text.tokens(-used.outside)} more" if used.outside < 0 else ""
    return f" · {text.tokens(used.counted)} by the last answer{after}{more}"


def _percent(part: int, whole: int) -> str:
    return "<1%" if 0 < part * 100 < whole else f"{part / whole:.0%}"


def in_order(context: Context) -> list[ContextMessage | list[LeftOut]]:
    """Return the messages of a context and the groups of omitted entries between them, in the order of the path."""
    waiting = sorted(context.left_out, key=lambda left: left.index)
    items: list[ContextMessage | list[LeftOut]] = []
    done = 0
    for message in context.messages:
        # The summary of a compaction is the first message of the context, although its entry comes later on the path.
        if message.index is not None and not isinstance(message.message, Compaction):
            before, done = done, bisect_left(waiting, message.index, done, key=lambda left: left.index)
            if before < done:
                items.append(waiting[before:done])
        items.append(message)
    return [*items, waiting[done:]] if waiting[done:] else items


def left_out_parts(group: Sequence[LeftOut]) -> list[Part]:
    """Return lines such as `3 entries: <reason>` for a group of omitted entries, one line for each reason."""
    counts = Counter([left.reason for left in group])
    parts: list[Part] = [
        LinePart([("▒ ", "faint"), (f"{plural(count, 'entry', 'entries')}: {clean(reason)}", "faint")], indent=2)
        for reason, count in counts.items()
    ]
    return [*parts, LinePart([])]


def message_block(message: ContextMessage) -> list[Part]:
    """Return the document parts of one message of a context: a heading with its role and size, then its text."""
    body = message.message
    size: Line = [(f"  {text.tokens(message.tokens)}", "faint")]
    if not message.sent:
        size = [("  not sent: the agent drops this message", "warning")]
    if isinstance(body, Compaction | BranchSummary):
        sign = "∑ compaction summary" if isinstance(body, Compaction) else "⌥ branch summary"
        return [LinePart([(sign, "branch strong"), *size]), *said_parts(message.text, DETAIL), LinePart([])]
    name, roles = message_heading(body)
    return [LinePart([(f"● {name}", f"{roles} strong"), *size]), *message_parts(body, DETAIL), LinePart([])]


def window_bar(shares: dict[TokenPart, int], window: int | None, width: int) -> Line:
    """Return a bar for the context window: a section for each kind of text, as wide as its share, and the free space.

    `window` is the window's size in tokens. If it is None or too small for the text, no free space is shown.
    """
    used_tokens = sum(shares.values())
    total = max(used_tokens, window or 0)
    line: Line = []
    used, seen = 0, 0
    for number, (part, count) in enumerate(shares.items()):
        seen += count
        # Even a tiny share gets one cell, so that every kind of text in the legend is visible in the bar.
        end = min(width, max(used + 1, round(seen * width / total)))
        line.append((SHADES[number] * (end - used), PART_ROLES[part]))
        used = end
    if used_tokens == total and used < width and line:
        line[-1] = (line[-1][0] + SHADES[len(line) - 1] * (width - used), line[-1][1])
        used = width
    return [*line, (FREE * (width - used), "faint")]


def legend(shares: dict[TokenPart, int], free: int) -> Line:
    """Return the legend of the context bar: shade, name and tokens of each part; then the free tokens."""
    line: Line = []
    for number, (part, count) in enumerate(shares.items()):
        line += [
            ("  " if line else "", ""),
            (SHADES[number], PART_ROLES[part]),
            (f" {PART_WORDS.get(part, part)} {text.tokens(count)}".replace(" ", _UNBROKEN), "dim"),
        ]
    if free > 0:
        line += [("  " + FREE, "faint"), (f" free {text.tokens(free)}".replace(" ", _UNBROKEN), "dim")]
    return line
