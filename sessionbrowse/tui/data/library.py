"""The summaries of all sessions in memory, and the rows of the project list and session list made from them.

This module does not use Textual. After each change all rows are computed again, which takes some milliseconds for ten
thousand sessions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from sessionbrowse.model.listing.directories import normal_form, one_spelling, split
from sessionbrowse.model.listing.families import families, folded
from sessionbrowse.model.listing.picker import fuzzy, ordered, scattered, threads
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.first_rows import make_first_rows
from sessionbrowse.services.background.monitor_messages import FirstRows
from sessionbrowse.store.own.pins import Pins

if TYPE_CHECKING:
    from sessionbrowse.model.search.query import SearchQuery
    from sessionbrowse.services.search.ranked_page import RankedSession
    from sessionbrowse.services.search.session_filters import SessionFilters


class Spellings:
    """The working directories of all sessions, and the symbolic links known in their paths.

    `stored` returns the directories as session files store them; call `forget` when its result has changed.
    """

    def __init__(self, stored: Callable[[], set[str]]) -> None:
        self._stored = stored
        self._links: Mapping[str, str] = {}
        self._known: dict[str, str] | None = None

    def learn(self, links: Mapping[str, str]) -> None:
        """Store the paths of directories with symbolic links resolved, by the path in the session files."""
        self._links = {**self._links, **links}
        self.forget()

    def forget(self) -> None:
        """Compare the directories again when they are needed next."""
        self._known = None

    def known(self) -> dict[str, str]:
        """Map each stored directory, and each resolved path, to the one spelling that is used for it."""
        if self._known is None:
            spelled = one_spelling(self._stored(), self._links)
            self._known = {**{self._path(each): one for each, one in spelled.items()}, **spelled}
        return self._known

    def of(self, directory: str) -> str:
        """Return the one spelling that is used for all spellings of a directory."""
        known = self.known()
        return known.get(directory) or known.get(self._path(directory), directory)

    def text(self, directory: str) -> str:
        """Return the text in which a filter by project searches: all spellings of a directory."""
        same = [each for each, one in self.known().items() if one == self.of(directory)]
        return "\n".join([f"{each.rstrip('/')}/" for each in same or [directory]])

    def _path(self, directory: str) -> str:
        return self._links.get(directory) or normal_form(directory)


def same_names(directories: Sequence[str]) -> frozenset[str]:
    """Return the directories whose last path component occurs more than once among the given directories."""
    names = Counter([split(directory)[1] for directory in directories])
    return frozenset([directory for directory in directories if names[split(directory)[1]] > 1])


SORTS = ("newest", "threaded", "name", "size", "cost")
"""The sort orders of the session list without a search."""
FOUND_SORTS = ("best", "newest", "name", "size", "cost")
"""The sort orders of the sessions that a search found."""


def after(names: Sequence[str], name: str) -> str:
    """Return the name that follows `name`; the first one follows the last, and an unknown one."""
    return names[(names.index(name) + 1) % len(names)] if name in names else names[0]


class ProjectRow(Struct, frozen=True):
    """A row of the project list, for one project; `cwd` is the project's directory.

    `cwd` is None in the row "All projects", and "" in the row of sessions without a directory. If sessions are grouped
    by repository, `cwd` is the repository's main directory. `directories` are the working directories of the sessions,
    each in one spelling.
    """

    cwd: str | None
    sessions: int
    modified: float = 0
    is_here: bool = False
    directories: tuple[str, ...] = ()


class SessionRow(Struct, frozen=True, gc=False):
    """A row of the session list; `prefix` is the line characters (`├─`) that connect it to a related session's row.

    `found` is the search result with the session's hits, if a search found the session. `family` is the number of
    related sessions: their rows are hidden, or shown below this row if `is_open`.
    """

    summary: Summary
    prefix: str = ""
    family: int = 0
    is_open: bool = False
    pinned: bool = False
    found: RankedSession | None = None


class Folding(Struct, frozen=True):
    """The families (groups of related sessions) that are open, so that all their rows are shown.

    `flipped` contains the path of a session of each family that is an exception: with `all_open`, all families are open
    except these; without `all_open`, only these are open.
    """

    all_open: bool = False
    flipped: frozenset[str] = frozenset()

    def flip(self, family: frozenset[str]) -> Folding:
        """Return a `Folding` that opens a family (the paths of related sessions), or folds the family if it is open."""
        if self.flipped & family:
            return Folding(self.all_open, self.flipped - family)
        return Folding(self.all_open, self.flipped | {min(family)})


class Library:
    """The summaries of all sessions; it computes the rows of the project list and the session list."""

    def __init__(self, here: str | None = None) -> None:
        self.here = here
        self.pins = Pins()
        self.by_repository = False
        """True to group sessions into projects by repository, False by working directory."""
        self._repositories: Mapping[str, str] = {}
        self.spellings = Spellings(self._stored_directories)
        self._families: dict[str, int] | None = None
        self._summaries: dict[str, Summary] = {}
        self._first_rows: FirstRows | None = None
        # Paths of sessions that the last run of the browser saved and this run has not found yet: their files may be
        # gone.
        self._unconfirmed: set[str] = set()
        self.is_complete = False
        """True once all sessions of the index, or of a complete disk scan, were added."""
        self._filters: SessionFilters | None = None

    def __len__(self) -> int:
        return len(self._summaries)

    def add(self, batch: Iterable[Summary]) -> None:
        """Add summaries of sessions; a new summary replaces the older summary of the same file."""
        for summary in batch:
            self._summaries[summary.path] = summary
            self._unconfirmed.discard(summary.path)
        self._families = self._filters = None
        self.spellings.forget()

    def use_first_rows(self, saved: FirstRows) -> None:
        """Use the first list rows and the session counts that the last run saved, until all sessions are added."""
        self.add(saved.summaries)
        self._unconfirmed = {summary.path for summary in saved.summaries}
        self._first_rows = saved

    def drop_first_rows(self) -> None:
        """Stop using the rows of the last run, because all sessions were added; remove saved sessions that are gone."""
        self._first_rows = None
        gone, self._unconfirmed = self._unconfirmed, set()
        self.replace((), gone)

    @property
    def uses_first_rows(self) -> bool:
        """True while the lists use the first rows saved by the last run, because not all sessions are added yet."""
        return self._first_rows is not None

    def first_rows_to_save(self, order: str) -> FirstRows | None:
        """Return the first rows of the lists, to save them for the next start.

        If not all sessions were added yet, return the rows that the last run saved, or None if there are none.
        """
        if self._first_rows is not None or not self.is_complete:
            return self._first_rows
        shown = [each for each in self._summaries.values() if not (each.hidden or each.archived)]
        return make_first_rows(shown, order, self.spellings.known())

    def replace(self, summaries: Iterable[Summary], gone: Iterable[str]) -> None:
        """Replace the summaries of changed sessions; remove the sessions with the paths in `gone`."""
        for path in gone:
            self._summaries.pop(path, None)
        self.add(summaries)

    def all(self) -> list[Summary]:
        """Return the summaries of all sessions."""
        return list(self._summaries.values())

    def get(self, path: object) -> Summary | None:
        """Return the summary of the session file at `path`; None if there is none, or if `path` is not a string."""
        return self._summaries.get(path) if isinstance(path, str) else None

    def counts(self, *, hidden: bool = False, archived: bool = False) -> tuple[int, int]:
        """Return the number of sessions and the number of projects."""
        if self._first_rows is not None:
            return self._first_rows.sessions, len(self._first_rows.directories)
        rows, whole = self._all_projects(hidden, archived)
        return whole.sessions, len(rows)

    def know_directories(self, repositories: Mapping[str, str], links: Mapping[str, str]) -> None:
        """Store for each directory the main directory of its repository, and its path with symbolic links resolved."""
        self._repositories = {**self._repositories, **repositories}
        self.spellings.learn(links)
        self._filters = None

    def project_of(self, cwd: str) -> str:
        """Return the directory of the project to which sessions with this working directory belong."""
        if self.by_repository and cwd in self._repositories:
            return self._repositories[cwd]
        return self.spellings.of(cwd)

    def directories(self) -> list[str]:
        """Return the working directories of all sessions, as their files store them."""
        return sorted(self._stored_directories() - {""})

    def _stored_directories(self) -> set[str]:
        return {summary.cwd for summary in self._summaries.values()}

    def _projects_by_directory(self) -> dict[str, str]:
        return {cwd: self.project_of(cwd) for cwd in self.spellings.known()}

    def family(self, path: str) -> frozenset[str]:
        """Return the paths of a session and of all sessions related to it, such as forks and subagent runs."""
        known = self._known_families()
        number = known.get(path)
        return frozenset([path] if number is None else [other for other, its in known.items() if its == number])

    def copies(self, summary: Summary) -> list[Summary]:
        """Return the session and its copies, such as those on other machines: they have the same id and creation."""
        same = (summary.id, summary.created)
        related = [self._summaries[path] for path in sorted(self.family(summary.path)) if path in self._summaries]
        return [one for one in related if None not in same and (one.id, one.created) == same]

    def _known_families(self) -> dict[str, int]:
        if self._families is None:
            self._families = families(list(self._summaries.values()))
        return self._families

    def projects(self, words: str = "", *, hidden: bool = False, archived: bool = False) -> list[ProjectRow]:
        """Return the rows of the project list: "All projects", the current directory, then others by last activity.

        The directories of the others contain all the given words.
        """
        if self._first_rows is not None:
            rows, whole = self._first_projects(self._first_rows)
        else:
            rows, whole = self._all_projects(hidden, archived)
        wanted = words.lower().split()
        if wanted:
            rows = [row for row in rows if all(word in (row.cwd or "").lower() for word in wanted)]
        return [whole, *rows]

    def _all_projects(self, hidden: bool, archived: bool) -> tuple[list[ProjectRow], ProjectRow]:
        groups: dict[str, list[Summary]] = {}
        shown = self._visible(hidden, archived)
        project_of = self._projects_by_directory()
        for summary in shown:
            groups.setdefault(project_of[summary.cwd], []).append(summary)
        rows = [self._project(cwd, members) for cwd, members in groups.items()]
        return _by_activity(rows), ProjectRow(None, len(shown))

    def _first_projects(self, saved: FirstRows) -> tuple[list[ProjectRow], ProjectRow]:
        rows = [
            ProjectRow(each.cwd, each.sessions, each.modified, self._is_here(each.cwd), (each.cwd,) if each.cwd else ())
            for each in saved.directories
        ]
        return _by_activity(rows), ProjectRow(None, saved.sessions)

    def _project(self, cwd: str, members: Sequence[Summary]) -> ProjectRow:
        spelled = self.spellings.known()
        directories = {spelled[summary.cwd] for summary in members} if self.by_repository else {cwd}
        modified = max([summary.modified or 0 for summary in members])
        return ProjectRow(cwd, len(members), modified, self._is_here(cwd), tuple(sorted(directories)) if cwd else ())

    def _is_here(self, cwd: str) -> bool:
        return bool(cwd) and self.here is not None and cwd == self.project_of(self.here)

    def sessions(self, chosen: list[Summary], sort: str, folding: Folding) -> Sequence[SessionRow]:
        """Return the rows of the session list for the `chosen` sessions, which are sorted newest first.

        Related sessions are folded under one row, unless the list is sorted as "threaded".
        """
        if sort == "threaded":
            return self._threads(chosen)
        return self._rows(chosen if sort == "newest" else ordered(chosen, sort), folding)

    def _threads(self, chosen: list[Summary]) -> list[SessionRow]:
        """Return rows in which forks follow their parent session; groups with a pinned session come first."""
        holds = self.pins.holds
        grown: list[list[SessionRow]] = []
        for summary, lasts in threads(chosen):
            if len(lasts) == 1:
                grown.append([])
            grown[-1].append(SessionRow(summary, thread_prefix(lasts), pinned=holds(summary)))
        grown.sort(key=lambda thread: not any(row.pinned for row in thread))
        return [row for thread in grown for row in thread]

    def _rows(self, chosen: list[Summary], folding: Folding) -> list[SessionRow]:
        """Return the rows of sorted sessions, pinned sessions first; related sessions are adjacent."""
        pinned: dict[str, Summary] = {}
        if self.pins.own or self.pins.omp:
            pinned = {summary.path: summary for summary in chosen if self.pins.holds(summary)}
        rest = [summary for summary in chosen if summary.path not in pinned] if pinned else chosen
        rows = [SessionRow(summary, pinned=True) for summary in pinned.values()]
        family_of = self._known_families()
        flipped = {family_of.get(path) for path in folding.flipped}
        is_all_open = folding.all_open
        for head, others in folded(rest, family_of):
            is_open = bool(others) and is_all_open != (family_of[head.path] in flipped)
            rows.append(SessionRow(head, "", len(others), is_open) if others else SessionRow(head))
            if is_open:
                rows += [SessionRow(other, "├─") for other in others[:-1]]
                rows.append(SessionRow(others[-1], "╰─"))
        return rows

    def newest_first(
        self, cwd: str | None = None, named: bool = False, hidden: bool = False, archived: bool = False
    ) -> list[Summary]:
        """Return the sessions of a project, newest first; those of all projects if `cwd` (its directory) is None.

        With `named`, only sessions that have a name. With `archived`, only archived sessions, else only sessions that
        are not archived. With `hidden`, sessions that the lists usually hide are included.
        """
        cwd = cwd and self.project_of(cwd)
        project_of = self._projects_by_directory()
        chosen = [
            summary
            for summary in self._visible(hidden, archived)
            if (cwd is None or project_of[summary.cwd] == cwd) and (not named or (summary.name or "").strip())
        ]
        return ordered(chosen, "newest")

    def fitting(self, query: SearchQuery, chosen: Iterable[Summary]) -> list[Summary]:
        """Return the `chosen` sessions that match a query, judged only by their summaries.

        The query's words are searched in name, first message, directory and id.
        """
        from sessionbrowse.model.search.query import has_words

        fits = self._session_filters().fits
        return [
            each
            for each in chosen
            if fits(query, each)
            if query.after_ms is None or (each.modified or 0) >= query.after_ms
            if query.before_ms is None or (each.created or each.modified or 0) < query.before_ms
            if not query.has_text or has_words(query, f"{each.name}\n{each.first_message}\n{each.cwd}\n{each.id}")
        ]

    def unmatched(self, query: SearchQuery) -> list[str]:
        """Return a sentence for each value of a filter by project, name or label that fits no session."""
        return self._session_filters().unmatched(query)

    def _session_filters(self) -> SessionFilters:
        from sessionbrowse.services.search.session_filters import SessionFilters

        if self._filters is None:
            self._filters = SessionFilters(self.all(), lambda cwds: {cwd: self.spellings.text(cwd) for cwd in cwds})
        return self._filters

    def _visible(self, hidden: bool, archived: bool = False) -> list[Summary]:
        return [
            summary
            for summary in self._summaries.values()
            if summary.archived == archived and (hidden or not summary.hidden)
        ]


def with_scattered_letters(words: Sequence[str], chosen: list[Summary]) -> list[Summary]:
    """Return the sessions whose name or directory has the letters of each word in order, as in pi, best first."""
    points = dict.fromkeys([each.path for each in chosen], 0.0)
    for word in words:
        has_letters = scattered(word).match
        near = {cwd for cwd in {each.cwd for each in chosen} if has_letters(cwd.lower())}
        chosen = [each for each in chosen if each.cwd in near or has_letters((each.name or "").lower())]
        for each in chosen:
            found = [fuzzy(word, each.name or ""), fuzzy(word, each.cwd)]
            points[each.path] += min([one for one in found if one is not None])
    return sorted(chosen, key=lambda each: points[each.path])


def path_of_key(key: Hashable) -> Hashable:
    """Return the path of the session to which the row with this key belongs: its own row, or the row of a hit."""
    return key[0] if isinstance(key, tuple) else key


def thread_prefix(lasts: Sequence[bool]) -> str:
    """Return the tree lines (`│ `, `├─`, `╰─`) before a session in the threaded list.

    `lasts` has an item for each ancestor session and for the session itself: True if it is the last of its siblings.
    """
    if len(lasts) < 2:
        return ""
    above = "".join(["  " if last else "│ " for last in lasts[1:-1]])
    return above + ("╰─" if lasts[-1] else "├─")


def _by_activity(rows: list[ProjectRow]) -> list[ProjectRow]:
    return sorted(rows, key=lambda row: (not row.is_here, -row.modified, row.cwd or ""))
