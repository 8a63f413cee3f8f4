"""The store that tests of services change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.change_helpers import Store
from tests.support.file_helpers import own_system_trash


@pytest.fixture
def store(tmp_path: Path, own_home: Path) -> Store:
    """A store with the trash of the test's own home."""
    own_system_trash()
    store = Store(tmp_path)
    store.environ = {"XDG_DATA_HOME": str(own_home / ".local" / "share")}
    return store
