from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sessionbrowse.services.machines import look as look_module
from tests.services.machines.other_machine import OtherMachine, missing

MakeMachine = Callable[..., OtherMachine]


@pytest.fixture
def make_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeMachine:
    """Make a machine that the program `ssh` leads to, with programs of a form."""

    def made(form: str = "gnu", shell: str = "/bin/sh") -> OtherMachine:
        why = missing(form)
        if why is not None:
            pytest.skip(why)
        machine = OtherMachine(tmp_path / "machine", form, shell)
        monkeypatch.setenv("PATH", machine.search_path)
        return machine

    return made


@pytest.fixture
def machine(make_machine: MakeMachine) -> OtherMachine:
    return make_machine()


@pytest.fixture
def at_sending(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Return a function that has something done between the rows and the sending of each look."""
    fetch = look_module._Look._fetch

    def patch(meanwhile: Callable[[], None]) -> None:
        def changed(*args: object) -> None:
            meanwhile()
            fetch(*args)  # type: ignore[arg-type]

        monkeypatch.setattr(look_module._Look, "_fetch", changed)

    return patch
