"""Find the sessions that have all typed words, without the scores of `picker.score`, which take longer to compute."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from sessionbrowse.model.listing.picker import fields_of, scattered
from sessionbrowse.model.listing.summary import Summary


class PickerText(Struct, frozen=True, gc=False):
    """A session with its searched text: all fields, and its name, in lower case; `cwd` unchanged."""

    summary: Summary
    text: str
    name: str
    cwd: str


class PickerTexts:
    """A cache of the sessions' fields in lower case, kept from one typed letter to the next."""

    def __init__(self) -> None:
        self._held: dict[str, PickerText] = {}
        # Many sessions share the same few directories.
        self._directories: dict[str, str] = {}

    def hold(self, summaries: Iterable[Summary]) -> list[PickerText]:
        """Return the searched text of each session; it is made once and then cached."""
        return [self._of(summary) for summary in summaries]

    def _of(self, summary: Summary) -> PickerText:
        known = self._held.get(summary.path)
        if known is not None and known.summary is summary:
            return known
        fields = fields_of(summary)
        # Words have no blanks or line ends, so no word matches across two fields.
        text = "\n".join((fields.name, fields.id, fields.text, fields.cwd)).lower()
        self._directories[fields.cwd] = fields.cwd.lower()
        held = self._held[summary.path] = PickerText(summary, text, fields.name.lower(), fields.cwd)
        return held

    def matching(self, among: list[PickerText], words: tuple[str, ...]) -> list[PickerText]:
        """Return the sessions that have every word, in their order: exactly those for which `score` returns a score."""
        for word in words:
            lowered, is_in = word.lower(), scattered(word).match
            near = {cwd for cwd, directory in self._directories.items() if is_in(directory)}
            among = [each for each in among if lowered in each.text or each.cwd in near or is_in(each.name)]
        return among
