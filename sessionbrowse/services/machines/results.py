"""The result of a look at another machine, and sentences about it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from sessionbrowse.text import age, plural


class LookResult(Struct, frozen=True, kw_only=True):
    """The result of a look: numbers of session files, bytes sent and received, and an error sentence if it failed.

    `left_out` maps reasons to numbers of files that were left out. `asleep` is True if the machine did not answer,
    which is no error for a machine that sleeps; `stopped` is True if the user stopped the look. `seen` is the time of
    the last good look before this one; `same_as` is another name of the same machine.
    """

    name: str
    files: int = 0
    new: int = 0
    grown: int = 0
    replaced: int = 0
    gone: int = 0
    left_out: Mapping[str, int] = {}
    sent: int = 0
    received: int = 0
    error: str | None = None
    asleep: bool = False
    stopped: bool = False
    seen: int | None = None
    same_as: str | None = None


def sentence_of(result: LookResult, now_ms: float) -> str:
    """Return a sentence about the files that a look received, or why it failed."""
    if result.asleep:
        return seen_words(result.name, result.seen, now_ms) + "."
    if result.error is not None:
        return result.error
    if result.stopped:
        return f"The look at {result.name} was stopped; the next look goes on."
    parts = [f"{count:,} {kind}" for kind in ("new", "grown", "replaced", "gone") if (count := getattr(result, kind))]
    sentence = f"{result.name}: {plural(result.files, 'session file')}, {', '.join(parts) or 'nothing new'}."
    if left := [f"{count:,} {reason}" for reason, count in result.left_out.items()]:
        sentence += f" Left out: {', '.join(left)}."
    return sentence if result.same_as is None else f"{sentence} {twice_words(result.name, result.same_as)}"


def twice_words(name: str, same_as: str) -> str:
    """Return the sentence that two names in the settings mean the same machine."""
    return f"{name} and {same_as} are the same machine, whose sessions are listed twice: forget one."


def seen_words(name: str, seen_ms: float | None, now_ms: float) -> str:
    """Return when a machine was last seen, such as `mini, seen 3h ago`."""
    since = age(seen_ms, now_ms) if seen_ms is not None else ""
    return f"{name}, {f'seen {since} ago' if since not in ('', 'now') else 'just seen' if since else 'never seen'}"
