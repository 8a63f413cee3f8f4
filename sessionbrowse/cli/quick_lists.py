"""Lists by the index: they import nothing that reads a session file, for files that did not change are not read."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sessionbrowse.cli.scoping import warn
from sessionbrowse.config import cache_dir
from sessionbrowse.services.list import documents
from sessionbrowse.services.list.overview import newest_sessions

if TYPE_CHECKING:
    from sessionbrowse.model.listing.summary import Summary
    from sessionbrowse.services.list.first_messages import CutMessages
    from sessionbrowse.services.list.overview import Overview
    from sessionbrowse.services.list.scope import Scope
    from sessionbrowse.store.index.overview import Brief


def newest(
    scope: Scope, arguments: argparse.Namespace, note: Callable[[str], None]
) -> tuple[list[Summary], CutMessages] | None:
    """Return the newest sessions, and where first messages stand that the index has cut; None if it cannot tell."""
    cwd = os.path.abspath(arguments.cwd) if arguments.cwd is not None else None

    def choose(found: Overview) -> Sequence[Brief]:
        return documents.newest(found.briefs, cwd=cwd, named=arguments.named, limit=arguments.limit)

    return newest_sessions(scope, cache_dir(), choose, skipped=warn, note=note)
