"""All sessions the browser knows, and the rows its lists show of them: grouping, scope, filter, order.

It holds summaries only and knows no screen. Rows are recomputed whole whenever something changes: ten thousand
sessions take some milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from sessionbrowse.model.picker import BadQuery, Fields, Query, filtered, ordered, parse_query, score, threads
from sessionbrowse.model.session_facts import Summary
from sessionbrowse.services.news import Opening

SORTS = ("recent", "threaded", "name", "size", "cost")
"""The orders without a filter; with one, relevance comes first."""


class Filter(Struct, frozen=True):
    """What stands in a filter line; `problem` is a sentence where it cannot match anything."""

    text: str = ""
    query: Query = Query()
    problem: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it asks for nothing."""
        return self.query.is_empty and self.problem is None


def parse_filter(text: str) -> Filter:
    """Return the filter of a line's text."""
    try:
        return Filter(text, parse_query(text))
    except BadQuery as error:
        return Filter(text, problem=str(error))


class ProjectRow(Struct, frozen=True):
    """A folder that sessions belong to; `cwd` None stands for all of them, "" for sessions that name none."""

    cwd: str | None
    sessions: int
    named: int
    modified: float | None
    agents: tuple[str, ...]
    is_here: bool = False


class SessionRow(Struct, frozen=True):
    """A session in the list; `prefix` draws the thread it hangs on."""

    summary: Summary
    prefix: str = ""


class Library:
    """The summaries, by path."""

    def __init__(self, here: str | None = None) -> None:
        self.here = here
        self._summaries: dict[str, Summary] = {}
        self._opening: Opening | None = None
        # The list last asked for (folder, named only, hidden too) and the hits of the filter last typed in it.
        self._asked: tuple[str | None, bool, bool] | None = None
        self._chosen: list[Summary] = []
        self._hits: tuple[str, list[Summary]] = ("", [])

    def __len__(self) -> int:
        return len(self._summaries)

    def add(self, batch: Iterable[Summary]) -> None:
        """Take newly read sessions, in place of older readings of the same files."""
        for summary in batch:
            self._summaries[summary.path] = summary
        self._forget()

    def open(self, opening: Opening) -> None:
        """Take the first rows, and the counts of all, until the others have come."""
        self.add(opening.summaries)
        self._opening = opening

    def opened(self) -> None:
        """Count for itself from now on: all sessions are here."""
        self._opening = None

    @property
    def is_opening(self) -> bool:
        """Whether only the first rows are here."""
        return self._opening is not None

    def keep_only(self, paths: Iterable[str]) -> None:
        """Forget the sessions that a complete scan did not find again."""
        found = set(paths)
        for path in [path for path in self._summaries if path not in found]:
            del self._summaries[path]
        self._forget()

    def replace(self, summaries: Iterable[Summary], gone: Iterable[str]) -> None:
        """Take sessions that were read anew, and forget those that are gone."""
        for path in gone:
            self._summaries.pop(path, None)
        self.add(summaries)

    def all(self) -> list[Summary]:
        """Return every session."""
        return list(self._summaries.values())

    def get(self, path: object) -> Summary | None:
        """Return the summary of the file at `path`."""
        return self._summaries.get(path) if isinstance(path, str) else None

    def counts(self, *, hidden: bool = False) -> tuple[int, int]:
        """Return the number of sessions and of folders."""
        if self._opening is not None:
            return self._opening.sessions, len(self._opening.folders)
        shown = self._visible(hidden)
        return len(shown), len({summary.cwd for summary in shown})

    def projects(self, filter: Filter | None = None, *, hidden: bool = False) -> list[ProjectRow]:
        """Return the rows of the folder list: all, the folder we were started in, the others by last activity."""
        if self._opening is not None:
            rows, whole = self._first_projects(self._opening)
        else:
            groups: dict[str, list[Summary]] = {}
            shown = self._visible(hidden)
            for summary in shown:
                groups.setdefault(summary.cwd, []).append(summary)
            rows = [self._project(cwd, members) for cwd, members in groups.items()]
            whole = self._project(None, shown)
        if filter is not None and not filter.is_empty:
            rows = [row for row in rows if _matches(filter, row.cwd or "")]
        rows.sort(key=lambda row: (not row.is_here, -(row.modified or 0), row.cwd or ""))
        return [whole, *rows]

    def _first_projects(self, opening: Opening) -> tuple[list[ProjectRow], ProjectRow]:
        rows = [
            ProjectRow(
                each.cwd,
                each.sessions,
                each.named,
                each.modified,
                each.agents,
                each.cwd != "" and each.cwd == self.here,
            )
            for each in opening.folders
        ]
        agents = tuple(sorted({agent for row in rows for agent in row.agents}))
        modified = max([row.modified or 0 for row in rows], default=None)
        return rows, ProjectRow(None, opening.sessions, sum([row.named for row in rows]), modified, agents)

    def _project(self, cwd: str | None, members: Sequence[Summary]) -> ProjectRow:
        return ProjectRow(
            cwd,
            len(members),
            sum([summary.name is not None for summary in members]),
            max([summary.modified or 0 for summary in members], default=None),
            tuple(sorted({summary.agent for summary in members})),
            cwd is not None and cwd != "" and cwd == self.here,
        )

    def sessions(
        self,
        *,
        cwd: str | None = None,
        filter: Filter | None = None,
        sort: str = "recent",
        named: bool = False,
        hidden: bool = False,
    ) -> list[SessionRow]:
        """Return the rows of the session list; `cwd` None stands for all folders."""
        filter = filter or Filter()
        if filter.problem is not None:
            return []
        chosen = self._newest_first(cwd, named, hidden)
        if not filter.is_empty:
            return [SessionRow(summary) for summary in self._matching(chosen, filter, sort)]
        if sort == "threaded":
            return [SessionRow(summary, thread_prefix(lasts)) for summary, lasts in threads(chosen)]
        return [SessionRow(summary) for summary in (chosen if sort == "recent" else ordered(chosen, sort))]

    def _newest_first(self, cwd: str | None, named: bool, hidden: bool) -> list[Summary]:
        asked = (cwd, named, hidden)
        if self._asked != asked:
            chosen = [
                summary
                for summary in self._visible(hidden)
                if (cwd is None or summary.cwd == cwd) and (not named or (summary.name or "").strip())
            ]
            self._forget()
            self._asked, self._chosen = asked, ordered(chosen, "recent")
        return self._chosen

    def _matching(self, chosen: list[Summary], filter: Filter, sort: str) -> list[Summary]:
        """Return the hits of a filter; another letter at its end is looked for among the hits so far only."""
        candidates = chosen
        before, hits = self._hits
        is_words = filter.query.pattern is None and '"' not in filter.text
        if is_words and before and filter.text.startswith(before):
            candidates = hits
        # In the order of the candidates, so that the next letter finds them in it.
        found = filtered(candidates, filter.query, "recent")
        self._hits = (filter.text, found) if is_words else ("", [])
        return found if sort == "recent" else filtered(found, filter.query, sort)

    def _forget(self) -> None:
        self._asked, self._chosen, self._hits = None, [], ("", [])

    def _visible(self, hidden: bool) -> list[Summary]:
        return [summary for summary in self._summaries.values() if hidden or not summary.hidden]


def same_names(directories: Iterable[str]) -> frozenset[str]:
    """Return the directories that share their own name with another one."""
    by_name: dict[str, list[str]] = {}
    for directory in directories:
        by_name.setdefault(directory.rstrip("/\\").rpartition("/")[2], []).append(directory)
    return frozenset([path for paths in by_name.values() if len(paths) > 1 for path in paths])


def thread_prefix(lasts: Sequence[bool]) -> str:
    """Return the lines that hang a session on its parent; `lasts` tells for each level whether it is the last there."""
    if len(lasts) < 2:
        return ""
    above = "".join(["  " if last else "│ " for last in lasts[1:-1]])
    return above + ("╰─" if lasts[-1] else "├─")


def _matches(filter: Filter, cwd: str) -> bool:
    return filter.problem is None and score(filter.query, Fields("", "", cwd, "")) is not None
