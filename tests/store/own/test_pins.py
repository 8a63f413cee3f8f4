"""Pins: omp's are honoured and never written, ours survive each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessionbrowse.agents import Place
from sessionbrowse.store.own.pins import Pins, read_pins, set_pin
from tests.support.tui_support import summary


def omp_place(folder: Path) -> Place:
    return Place("omp", str(folder / "sessions"), "projects", "default", agent_dir=str(folder))


def test_a_pin_is_kept_until_it_is_taken_away(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    assert read_pins(state) == Pins()
    set_pin(state, "pi", "a", True)
    set_pin(state, "omp", "a", True)
    set_pin(state, "pi", "a", True)
    assert read_pins(state).own == {("pi", "a"), ("omp", "a")}
    set_pin(state, "pi", "a", False)
    assert read_pins(state).own == {("omp", "a")}
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["pins.json"]


def test_omps_own_pins_count_and_its_file_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "agent/session-pins.json"
    file.parent.mkdir()
    file.write_text('["01-omp"]')
    pins = read_pins(str(tmp_path / "state"), [omp_place(file.parent)])
    assert pins.holds(summary("/s", agent="omp", id="01-omp"))
    assert not pins.holds(summary("/s", agent="pi", id="01-omp"))
    set_pin(str(tmp_path / "state"), "omp", "01-omp", True)
    set_pin(str(tmp_path / "state"), "omp", "01-omp", False)
    assert file.read_text() == '["01-omp"]'


@pytest.mark.parametrize(
    "content",
    ["", "{", "[1]", '{"version":2,"pins":[["pi","a"]]}', "\x00", pytest.param('{"x":' + "[" * 100_000, id="deep")],
)
def test_a_damaged_or_newer_file_pins_nothing(tmp_path: Path, content: str) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "pins.json").write_text(content)
    (state / "session-pins.json").write_text(content)
    assert read_pins(str(state), [omp_place(state)]) == Pins()


def test_a_session_without_an_id_is_never_pinned(tmp_path: Path) -> None:
    assert not Pins(own=frozenset([("pi", "a")])).holds(summary("/s"))


def test_the_file_says_its_version(tmp_path: Path) -> None:
    set_pin(str(tmp_path), "pi", "a", True)
    assert json.loads((tmp_path / "pins.json").read_text()) == {"version": 1, "pins": [["pi", "a"]]}
