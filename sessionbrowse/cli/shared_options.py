"""Options that several commands share: those for writing a copy, and `--since` and `--until`."""

from __future__ import annotations

import argparse
from datetime import datetime, timedelta

_UNITS = {"d": 1, "w": 7}


def add_copy_options(
    parser: argparse.ArgumentParser,
    *,
    in_place: bool = True,
    required: bool = True,
    new_id: bool = True,
    to: str = "--to",
) -> None:
    """Add the options of the commands that write a copy of a session; `to` is a second name of `--to`."""
    shared = parser.add_argument_group("the copy (the same for prune, shrink, redact and doctor)")
    where = shared.add_mutually_exclusive_group(required=required) if in_place else shared
    names = [*dict.fromkeys(("--to", to))]
    where.add_argument(
        *names,
        dest="to",
        metavar="FILE",
        required=required and not in_place,
        help="write the copy to this new file, or into this folder",
    )
    if in_place:
        where.add_argument(
            "--in-place", action="store_true", help="replace the session; the original goes to the trash"
        )
    if new_id:
        shared.add_argument("--new-id", action="store_true", help="with --to: give the copy a new session id")
    shared.add_argument("--dry-run", action="store_true", help="only print what would change")
    shared.add_argument("--yes", action="store_true", help="do not ask; with --in-place, allow latest as REF")
    if in_place:
        shared.add_argument("--force", action="store_true", help="continue even if the session may be in use")


def moment(text: str, now: datetime, *, is_end: bool = False) -> datetime:
    """Return the local time that a typed text such as `7d` names; with `is_end` a date means the end of that day.

    Raises:
        argparse.ArgumentTypeError: the text is not a time.
    """
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    day = {"today": today, "yesterday": today - timedelta(days=1)}.get(text)
    try:
        if day is None and text[-1:] in _UNITS and text[:-1].isdecimal() and text.isascii():
            return now - timedelta(days=int(text[:-1]) * _UNITS[text[-1]])
        if day is None and len(text) == len("2026-11-01"):
            day = datetime.strptime(text, "%Y-%m-%d")
        found = day + timedelta(days=is_end) if day is not None else datetime.fromisoformat(text)
        found.timestamp()
        return found
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time: give a date (2026-11-01), a time (2026-11-01T10:00), 7d, 3w, today or yesterday"
        ) from None


def when(text: str) -> str:
    """Return the text of `--since` or `--until` unchanged; raise ArgumentTypeError if the text is not a time."""
    moment(text, datetime.now())
    return text


def span_ms(since: str | None, until: str | None, now: datetime) -> tuple[float | None, float | None]:
    """Return begin and end of a span of time, in ms since 1970, None for no limit; a date as `until` includes that day.

    Raises:
        argparse.ArgumentTypeError: `since` or `until` is not a time.
    """
    return (
        moment(since, now).timestamp() * 1000 if since is not None else None,
        moment(until, now, is_end=True).timestamp() * 1000 if until is not None else None,
    )


def add_span(parser: argparse.ArgumentParser, what: str) -> None:
    """Add to a parser `--since` and `--until`; the help of both begins with `what`, such as "only labels set"."""
    parser.add_argument("--since", type=when, metavar="WHEN", help=f"{what} since a date, a time, 7d, 3w or today")
    parser.add_argument("--until", type=when, metavar="WHEN", help=f"{what} until WHEN; a date includes that day")
