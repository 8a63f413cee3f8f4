"""The patience of the browser on a slow machine, and the store that tests of changes and of services share."""

import pytest

from tests.services.conftest import store as store


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the browser wait as long as a test takes, on a slow machine too, for what usually takes a moment.

    It waits for the first rows, for the project to open, for work before its progress is shown, for the rows of a tree
    before it takes the keys that were pressed, and until a message goes by itself.
    """
    monkeypatch.setattr("sessionbrowse.tui.app.OPENING_S", 60.0)
    monkeypatch.setattr("sessionbrowse.tui.lists.scan_updates.PROJECT_SECONDS", 60.0)
    monkeypatch.setattr("sessionbrowse.tui.lists.screen.PATIENCE_SECONDS", 60.0)
    monkeypatch.setattr("sessionbrowse.tui.changes.change_runner.PROGRESS_DELAY_S", 60.0)
    monkeypatch.setattr("sessionbrowse.tui.session.screen.SessionScreen.HOLD_SECONDS", 60.0)
    monkeypatch.setattr("sessionbrowse.tui.app.BrowseApp.MESSAGE_SECONDS", 600.0)
