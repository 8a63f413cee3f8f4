"""The real programs are installed once for all tests, also for those that have a home of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop import real


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder of the real programs, as the user's environment names it."""
    return real.cache_folder()


@pytest.fixture(autouse=True)
def programs_stay(programs: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the programs where they are in the made-up home of a test."""
    monkeypatch.setenv("SESSIONBROWSE_INTEROP", str(programs))
