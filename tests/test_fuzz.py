"""The targets of `make fuzz` hold for the sessions with which fuzzing begins."""

from __future__ import annotations

import pytest

from tests import fuzz


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_the_inputs_that_fuzzing_begins_with_break_no_promise(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere")
    run = getattr(fuzz, name)()
    for data in fuzz.seeds(name):
        run(data)


def test_a_broken_promise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    run = fuzz.codec()
    monkeypatch.setattr("sessionbrowse.format.envelope.read_envelope", lambda line: None)
    with pytest.raises(AssertionError):
        run(fuzz.seeds("codec")[0])
