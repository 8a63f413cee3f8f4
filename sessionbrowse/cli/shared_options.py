"""Options that several commands share, so that they have the same names and words in each."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def add_copy_options(
    parser: argparse.ArgumentParser,
    *,
    in_place: bool = True,
    required: bool = True,
    new_id: bool = True,
    to: str = "--to",
) -> None:
    """Add the options that all commands that write a copy of a session share; `to` is a further name of `--to`."""
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


OLDER_SORTS = {"recent": "newest", "relevance": "best"}
"""Older words for sort orders, which stay accepted."""


def add_sort(parser: argparse.ArgumentParser, choices: Sequence[str], default: str | None, sort_help: str) -> None:
    """Add the option `--sort`, which also accepts the older words for sort orders."""
    parser.add_argument(
        "--sort", type=lambda word: OLDER_SORTS.get(word, word), choices=choices, default=default, help=sort_help
    )
