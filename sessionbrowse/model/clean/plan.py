"""Data classes for a clean copy of a session: its plan (what to leave out) and its preview (the differences)."""

from __future__ import annotations

from msgspec import Struct, field

from sessionbrowse.format.json_value import Json
from sessionbrowse.model.clean.masker import Masker
from sessionbrowse.text import clean, cost, plural, size


class CleanPlan(Struct, frozen=True, kw_only=True):
    """The plan of a clean copy: the content that the copy leaves out or replaces.

    `drop` are indexes of entries to leave out, with all their descendants. `images` replaces images and other media by
    short texts. `results_over` replaces tool output of more than this number of bytes. `thinking` drops reasoning.
    `header` is a new header line for the copy, without newline; None keeps the original header. `masker` masks
    secrets in every line.
    """

    drop: frozenset[int] = frozenset()
    images: bool = False
    results_over: int | None = None
    thinking: bool = False
    header: bytes | None = None
    masker: Masker | None = None

    @property
    def shrinks(self) -> bool:
        """True if the plan replaces images, reasoning or output of tools in kept entries."""
        return self.images or self.thinking or self.results_over is not None


class Reparented(Struct, frozen=True):
    """An entry that has another parent in the copy: its id, its old and its new parent's id (None: no parent)."""

    id: str
    before: str | None = field(name="from")
    after: str | None = field(name="to")


class Removed(Struct, frozen=True, kw_only=True):
    """Amounts that a clean copy leaves out: entries, bytes, estimated tokens, images, model calls and their cost.

    `branches` is the number of branches that contain these model calls.
    """

    entries: int = 0
    bytes: int = 0
    tokens: int = 0
    images: int = 0
    requests: int = 0
    cost: float = 0
    branches: int = 0

    @property
    def words(self) -> str:
        """The removed amounts as text, such as `2 entries, 1.5MB`; the size is negative if the copy is larger."""
        parts = [plural(self.entries, "entry", "entries")] * bool(self.entries)
        parts += [plural(self.images, "image")] * bool(self.images)
        parts += [size(self.bytes) if self.bytes >= 0 else f"-{size(-self.bytes)}"]
        parts += [f"about {self.tokens:,} tokens"] * (self.tokens > 0)
        if self.requests:
            spent = cost(self.cost) or "not priced"
            parts.append(
                f"{plural(self.requests, 'request')} of {plural(self.branches, 'branch', 'branches')}: {spent}"
            )
        return ", ".join(parts)


class CopyPreview(Struct, frozen=True, kw_only=True):
    """The differences between a clean copy and the original session.

    `labels` are the ids of entries whose label is written again at the end of the copy; `name_again` is True if the
    session's name is written again. `labels_gone` counts labels of dropped entries, and `added_lines` the new lines.
    `compactions` are the ids of compactions whose first kept entry changed. `leaf_id` is the entry at which the agent
    resumes the copy, and `leaf_moved` is True if the original had another leaf.
    """

    removed: Removed
    kept_entries: int
    reparented: tuple[Reparented, ...] = ()
    labels: tuple[str, ...] = ()
    labels_gone: int = 0
    name_again: bool = False
    compactions: tuple[str, ...] = ()
    changed_lines: int = 0
    added_lines: int = 0
    leaf_id: str | None = None
    leaf_moved: bool = False

    @property
    def changes_nothing(self) -> bool:
        """True if the copy is identical to the original file."""
        return not (self.removed.entries or self.removed.bytes or self.changed_lines)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The effects of the copy on labels, name, compactions and leaf, as sentences for the user."""
        sentences = []
        if self.labels or self.name_again:
            what = [plural(len(self.labels), "label")] * bool(self.labels) + ["the name"] * self.name_again
            sentences.append(f"Written again at the end of the copy: {' and '.join(what)}.")
        if self.labels_gone:
            sentences.append(f"Labels removed with their entries: {self.labels_gone}.")
        if self.compactions:
            sentences.append(f"Compactions with a new first kept entry: {', '.join(map(clean, self.compactions))}.")
        if self.leaf_moved:
            sentences.append(f"The session is resumed at {clean(self.leaf_id or '(no id)')}.")
        return tuple(sentences)

    def document(self) -> dict[str, Json]:
        """Return the preview of the copy as a JSON object."""
        import msgspec

        document: dict[str, Json] = msgspec.to_builtins(self)
        return document
