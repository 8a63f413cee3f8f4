from __future__ import annotations

from pathlib import Path

import pytest

from sessionbrowse.agents import Place
from sessionbrowse.store.own.mirrors import (
    MirrorState,
    machine_of,
    mirror_dir,
    mirror_places,
    path_here,
    read_state,
    remote_path,
    states,
    write_state,
)

SESSION = "/home/u/.pi/agent/sessions/--a--/s.jsonl"


@pytest.fixture
def top(tmp_path: Path) -> str:
    return str(tmp_path / "sessionbrowse" / "machines")


def test_a_path_in_a_mirror_tells_its_machine_and_the_path_over_there(top: str) -> None:
    here = path_here("mini", SESSION, top)
    assert here.startswith(top)
    assert machine_of(here) == "mini"
    assert remote_path(here) == SESSION
    assert machine_of(SESSION) is None
    assert remote_path(SESSION) == SESSION


def test_the_mirror_of_a_machine_that_has_mirrors_itself_is_that_machines(top: str) -> None:
    nested = path_here("hub", path_here("mini", SESSION, top), top)
    assert machine_of(nested) == "hub"
    assert machine_of(remote_path(nested)) == "mini"


@pytest.mark.parametrize("name", ["", "..", ".", "a", "a/b", "-x", "a" * 33, "a\n", "ä1", "a.b"])
def test_no_path_is_the_name_of_a_machine(name: str, top: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name"):
        mirror_dir(name, top)
    assert read_state(name, top) is None


def test_places_of_a_mirror_lie_here_and_name_their_machine(top: str) -> None:
    env = {"PI_CODING_AGENT_DIR": "/srv/pi"}
    place = Place("pi", "/srv/pi/sessions", "projects", "default", env, "/srv/pi")
    write_state(MirrorState(name="mini", host="mini.local", places=(place,)), top)
    (here,) = mirror_places(top)
    assert (here.root, here.agent_dir) == (f"{top}/mini/files/srv/pi/sessions", f"{top}/mini/files/srv/pi")
    assert (here.machine, here.kind, here.env) == ("mini", "projects", env)


def test_a_damaged_state_counts_as_none(top: str) -> None:
    assert list(states(top)) == []
    write_state(MirrorState(name="mini", host="mini", seen=5), top)
    write_state(MirrorState(name="work", host="work"), top)
    Path(top, "work", "state.json").write_bytes(b'{"name": "mini", "host": "x"}')
    assert [state.name for state in states(top)] == ["mini"]
    Path(top, "mini", "state.json").write_bytes(b'{"name": "mini", "host": "x", "seen": 99999999999999999}')
    assert list(states(top)) == []
    Path(top, "mini", "state.json").write_bytes(b"\xff")
    assert list(states(top)) == []
