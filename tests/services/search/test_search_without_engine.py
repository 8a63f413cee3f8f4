"""Every test of the search once more, where the search engine cannot be imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from sessionbrowse.store.index.texts import engine
from tests.services.search.test_ranking import *  # noqa: F403
from tests.services.search.test_searcher import *  # noqa: F403


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # A module that is None in `sys.modules` cannot be imported.
    monkeypatch.setitem(sys.modules, "tantivy", None)
    engine.cache_clear()
    yield
    engine.cache_clear()
