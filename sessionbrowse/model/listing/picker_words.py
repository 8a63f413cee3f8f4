"""Filter sessions by typed words as `picker.score` does, but faster, because no scores are computed."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from sessionbrowse.model.listing.picker import fields_of, scattered
from sessionbrowse.model.listing.summary import Summary


class PickerText(Struct, frozen=True, gc=False):
    """A session and its searched fields: `text` (all fields) and `name` in lower case, `cwd` unchanged."""

    summary: Summary
    text: str
    name: str
    cwd: str


class PickerTexts:
    """A cache of sessions' searched fields in lower case, so that they are not computed again for each typed letter."""

    def __init__(self) -> None:
        self._held: dict[str, PickerText] = {}
        # Maps each directory to its lower-case form, so that a word is compared once per directory, not per session.
        self._directories: dict[str, str] = {}

    def hold(self, summaries: Iterable[Summary]) -> list[PickerText]:
        """Return the searched text of each session, from the cache if the summary is the same as before."""
        return [self._of(summary) for summary in summaries]

    def _of(self, summary: Summary) -> PickerText:
        known = self._held.get(summary.path)
        if known is not None and known.summary is summary:
            return known
        fields = fields_of(summary)
        # The fields are separated by newlines; words contain none, so no word matches across two fields.
        text = "\n".join((fields.name, fields.id, fields.text, fields.cwd)).lower()
        self._directories[fields.cwd] = fields.cwd.lower()
        held = self._held[summary.path] = PickerText(summary, text, fields.name.lower(), fields.cwd)
        return held

    def matching(self, among: list[PickerText], words: tuple[str, ...]) -> list[PickerText]:
        """Return the sessions of `among` that match every word, without changing the order of the sessions.

        A session matches here if, and only if, `picker.score` returns a score for it.
        """
        for word in words:
            lowered, is_in = word.lower(), scattered(word).match
            near = {cwd for cwd, directory in self._directories.items() if is_in(directory)}
            among = [each for each in among if lowered in each.text or each.cwd in near or is_in(each.name)]
        return among
