"""Machines added to the settings file and taken out of it, which leaves everything else as the user wrote it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessionbrowse.config import MachineSettings, parse_settings
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.services.machines.settings_file import add_machine, remove_machine

MINI, WORK = MachineSettings(name="mini", host="mini.local"), MachineSettings(name="work", host="me@work")
OWN = (
    "",
    "theme = 'light' # mine",
    '# [[machines]]\ntheme = "light"\n\n[keys]\nrename = "f6" # [[machines]]\n',
    'theme = "light"\r\n[not_for_agents]\r\nlabels = ["[[machines]]"]\r\n',
    '[[commands]]\nname = "x"\nrun = """\n[[machines]]\nname = "mini"\nhost = "x"\n"""\n',
)


def names(path: Path) -> list[str]:
    return [machine.name for machine in parse_settings(path.read_text())[0].machines]


@pytest.mark.parametrize("own", OWN)
def test_a_machine_is_added_and_taken_out_and_the_rest_stays(own: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(own.encode())
    path.chmod(0o640)
    for machine in (MINI, WORK):
        add_machine(path, machine)
    assert names(path) == ["mini", "work"]
    assert path.read_bytes().startswith(own.encode())
    remove_machine(path, "mini")
    assert names(path) == ["work"]
    remove_machine(path, "work")
    remove_machine(path, "work")
    assert path.read_bytes().rstrip() == own.encode().rstrip()
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_name_stands_once_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, path = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    path.symlink_to(real)
    add_machine(path, MINI)
    with pytest.raises(RefusedWrite, match="There is a machine MINI already"):
        add_machine(path, MachineSettings(name="MINI", host="x"))
    assert path.is_symlink()
    assert names(real) == ["mini"]


@pytest.mark.parametrize(
    "text", ['machines = [{name = "work", host = "x"}]\n', 'theme = "lig', b"\xff", '[[machines]]\nname = "a\n']
)
def test_a_file_that_a_program_cannot_change_safely_is_left_with_the_lines_to_add(
    text: str | bytes, tmp_path: Path
) -> None:
    path = tmp_path / "config.toml"
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(content)
    with pytest.raises(RefusedWrite, match=r'by hand:\n.*\nname = "mini"'):
        add_machine(path, MINI)
    assert path.read_bytes() == content


def test_a_machine_whose_lines_cannot_be_told_from_others_is_not_taken_out(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('machines = [{name = "mini", host = "x"}, {name = "work", host = "y"}]\n')
    with pytest.raises(RefusedWrite, match="Remove the machine mini from the settings file by hand"):
        remove_machine(path, "mini")
    assert names(path) == ["mini", "work"]
