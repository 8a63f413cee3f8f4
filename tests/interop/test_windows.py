"""The catalogue of context windows is that of the newest pi that is asked."""

from __future__ import annotations

import pytest

from sessionbrowse.services.inspect.model_windows import catalogue
from tests.interop import programs
from tests.interop.windows import windows_of


@pytest.mark.interop
def test_the_windows_are_those_of_the_real_pi() -> None:
    version = programs.versions("pi")[0]
    assert catalogue().pi == version, f"pi {version} is newer than the windows of models: run `make windows`"
    assert catalogue().windows == windows_of(version)
