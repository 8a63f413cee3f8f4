"""Sessions that changed on disk, as screens are told of them."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary


class SessionUpdates(Struct, frozen=True, kw_only=True):
    """Sessions as they are on disk now, and the paths at which there is no session any more."""

    summaries: tuple[Summary, ...] = ()
    gone: frozenset[str] = frozenset()

    @property
    def paths(self) -> frozenset[str]:
        """Every path that changed."""
        return self.gone | {summary.path for summary in self.summaries}
