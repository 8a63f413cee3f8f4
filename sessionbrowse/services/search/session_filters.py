"""The filters of a query that select sessions: agent, machine, project, name and label."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from msgspec.structs import replace

from sessionbrowse.errors import did_you_mean
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.entry_facts import is_in_time
from sessionbrowse.model.search.patterns import is_in
from sessionbrowse.model.search.query import THIS_MACHINE, SearchQuery, doubts, fits_machine, has_words
from sessionbrowse.model.search.words import literal
from sessionbrowse.services.search.hits import Checkpoint
from sessionbrowse.store.find.directories import project_texts, spellings_of, within


class SessionFilters:
    """Applies the filters of queries to a fixed set of sessions.

    `projects` maps each working directory to the text in which the `project:` filter searches.
    """

    def __init__(
        self, summaries: Sequence[Summary], projects: Callable[[Iterable[str]], Mapping[str, str]] = project_texts
    ) -> None:
        self._summaries = summaries
        self._project_texts = projects
        self._asked: tuple[tuple[str, ...], frozenset[str]] | None = None

    def fits(self, query: SearchQuery, summary: Summary) -> bool:
        """Return True if a session fits the query's agent, machine, project, label and name filters."""
        if query.agents and summary.agent not in query.agents:
            return False
        if not fits_machine(query, summary.machine):
            return False
        if query.projects and not (
            any(wanted in self.projects[summary.cwd] for wanted in query.projects)
            or summary.cwd in self._below(query.directories)
        ):
            return False
        if query.labels and not any(wanted in literal(text) for text in summary.labels for wanted in query.labels):
            return False
        return not query.names or any(wanted in literal(summary.name or "") for wanted in query.names)

    def unmatched(self, query: SearchQuery) -> list[str]:
        """Return a sentence for each term or filter value that explains why nothing was found, and the value to type.

        A model or tool is reported only if it resembles a known one.
        """
        if not (query.projects or query.machines or query.names or query.labels or query.models or query.tools):
            return doubts(query)
        # Imported here for a faster start, because most searches find something.
        from sessionbrowse.model.tree.tool_call_text import SHOWN_TOOLS

        known = {
            "project": (query.projects, {os.path.basename(summary.cwd) for summary in self._summaries}),
            "machine": (query.machines, {summary.machine or THIS_MACHINE for summary in self._summaries}),
            "name": (query.names, {summary.name for summary in self._summaries if summary.name}),
            "label": (query.labels, {label for summary in self._summaries for label in summary.labels}),
        }
        models = {summary.model.lower() for summary in self._summaries if summary.model}
        near = {
            "model": (query.models, models | {word for model in models for word in model.split("-")}),
            "tool": (query.tools, frozenset().union(*SHOWN_TOOLS.values())),
        }
        return (
            [
                f"{key}:{value} fits no session.{did_you_mean(value, sorted(values))}"
                if value
                else "No entry of any session has a label."
                for key, (wanted, values) in known.items()
                for value in wanted
                if not any(
                    self.fits(replace(SearchQuery(directories=query.directories), **{f"{key}s": (value,)}), summary)
                    for summary in self._summaries
                )
            ]
            + [
                f"No entry fits {key}:{value}.{hint}"
                for key, (wanted, values) in near.items()
                for value in wanted
                if not any(value in each for each in values) and (hint := did_you_mean(value, sorted(values)))
            ]
            + doubts(query)
        )

    @cached_property
    def projects(self) -> dict[str, str]:
        """Maps each working directory to the text in which the `project:` filter searches."""
        texts = self._project_texts({summary.cwd for summary in self._summaries})
        return {directory: literal(text) for directory, text in texts.items()}

    def _below(self, directories: tuple[str, ...]) -> frozenset[str]:
        """Return the working directories that are equal to or below a given directory, in any spelling of its path."""
        if self._asked is None or self._asked[0] != directories:
            found = [within(self.projects, spellings_of(each, os.curdir), below=True) for each in directories]
            self._asked = directories, frozenset().union(*found)
        return self._asked[1]


def fits(query: SearchQuery, mark: Checkpoint, pattern_is_in: Callable[[str, str], bool] = is_in) -> bool:
    """Return True if a checkpoint matches a query by its label, time, entry state and text.

    The filters that select sessions are left to `SessionFilters`.
    """
    if query.states and mark.state not in query.states:
        return False
    if query.labels and not any(word in literal(mark.label) for word in query.labels):
        return False
    if not is_in_time(query, mark.time_ms):
        return False
    text = f"{mark.label} {mark.session or ''} {mark.cwd} {mark.preview}"
    if not has_words(query, text):
        return False
    return query.pattern is None or pattern_is_in(query.pattern, text)
