"""Which sessions have the words that are typed: whether they do, sooner than how well (`picker.score`)."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from sessionbrowse.model.listing.picker import fields_of, scattered
from sessionbrowse.model.listing.summary import Summary


class PickerText(Struct, frozen=True, gc=False):
    """A session and what a word is held against: all fields, and its name, in lower case; `cwd` as it is."""

    summary: Summary
    text: str
    name: str
    cwd: str


class PickerTexts:
    """The sessions' fields in lower case, kept from one letter to the next."""

    def __init__(self) -> None:
        self._held: dict[str, PickerText] = {}
        # Many sessions lie in the same few directories.
        self._directories: dict[str, str] = {}

    def hold(self, summaries: Iterable[Summary]) -> list[PickerText]:
        """Return what words are held against, for each of the sessions."""
        return [self._of(summary) for summary in summaries]

    def _of(self, summary: Summary) -> PickerText:
        known = self._held.get(summary.path)
        if known is not None and known.summary is summary:
            return known
        fields = fields_of(summary)
        # No word holds a blank, so none is found across two fields.
        text = "\n".join((fields.name, fields.id, fields.text, fields.cwd)).lower()
        self._directories[fields.cwd] = fields.cwd.lower()
        held = self._held[summary.path] = PickerText(summary, text, fields.name.lower(), fields.cwd)
        return held

    def matching(self, among: list[PickerText], words: tuple[str, ...]) -> list[PickerText]:
        """Return those of the sessions that have every word, in their order: `score` has one for exactly these."""
        for word in words:
            lowered, is_in = word.lower(), scattered(word).match
            near = {cwd for cwd, directory in self._directories.items() if is_in(directory)}
            among = [each for each in among if lowered in each.text or each.cwd in near or is_in(each.name)]
        return among
