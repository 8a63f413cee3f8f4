"""The example of the settings is true, `config` says where they are, shells complete what can be typed."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from sessionbrowse.agents import AGENTS
from sessionbrowse.cli import main
from sessionbrowse.config import CustomCommand, ResumeSettings, Settings, example, parse_settings


def uncommented() -> str:
    """The example with every setting switched on."""
    return re.sub(r"^#(?=[^# ])", "", example(), flags=re.MULTILINE)


def names_of(kind: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(kind)}


def test_the_example_as_it_stands_sets_nothing():
    assert tomllib.loads(example()) == {}


def test_the_example_holds_every_setting_and_each_is_valid():
    table = tomllib.loads(uncommented())
    assert set(table) == names_of(Settings)
    assert set(table["resume"]) == names_of(ResumeSettings)
    assert set(table["commands"][0]) == names_of(CustomCommand)
    _, problems = parse_settings(uncommented())
    assert problems == []


def test_the_example_shows_the_defaults_where_there_are_any():
    settings, _ = parse_settings(uncommented())
    shown_by_example = {"roots", "agents", "keys", "resume", "not_for_agents", "commands"} | {
        "redact_patterns",
        "machines",
    }
    for field in msgspec.structs.fields(Settings):
        if field.name not in shown_by_example:
            assert getattr(settings, field.name) == getattr(Settings(), field.name), field.name
    assert settings.resume.where == ResumeSettings().where


def test_every_value_that_a_setting_can_have_is_named_in_the_example():
    _, problems = parse_settings(
        "".join(f"{field.name} = []\n" for field in msgspec.structs.fields(Settings) if field.name != "resume")
    )
    for problem in problems:
        if "must be one of " in problem:
            for value in problem.partition("must be one of ")[2].partition(";")[0].split(", "):
                assert f'"{value}"' in example(), value


def test_the_commands_of_the_example_for_keys_exist():
    from sessionbrowse.tui.commands.table import BY_ID

    settings, _ = parse_settings(uncommented())
    # A word of the example that the table lacks would teach people a setting that does nothing.
    assert {"theme"} <= set(settings.keys)
    assert set(settings.keys) - set(BY_ID) <= {"rename"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("resume = {inn = 'here'}", 'unknown setting "resume.inn"; it is ignored. Did you mean "resume.in"?'),
        (
            "[resume]\nin = 'screen'",
            '"resume.in" must be one of here, tmux-window, tmux-split, command; the default is used.',
        ),
        ("resume = 3", '"resume" must be a table such as {in = "tmux-window"}; the default is used.'),
        (
            "[resume]\ncommand = 'kitty'",
            '"resume.command" must be a list of texts such as ["kitty", "{argv}"]; the default is used.',
        ),
        (
            "[[commands]]\nname = 'x'",
            '"commands[1]" must be a table with at least name and run, such as '
            '{name = "Editor", run = ["code", "{cwd}"]}; the command is ignored.',
        ),
        (
            "[[commands]]\nname = 'x'\nrun = 5",
            '"commands[1].run" must be a shell line in quotes, or a list of texts such as ["code", "{cwd}"]; '
            "the command is ignored.",
        ),
        (
            "[[commands]]\nname = 'x'\nrun = 'y'\nwere = 'lists'",
            'unknown setting "commands[1].were"; it is ignored. Did you mean "commands[1].where"?',
        ),
        (
            "row_fields = ['agent', 'colour']",
            '"row_fields" must be a list of any of: model, project, agent, modified, messages, tokens, cost, size, '
            "branches; the default is used.",
        ),
    ],
)
def test_what_is_wrong_inside_a_table_is_named(text: str, sentence: str):
    assert parse_settings(text)[1] == [sentence]


def test_one_bad_command_does_not_take_the_others_with_it():
    settings, problems = parse_settings("commands = [{name = 'a', run = 'x'}, 4, {name = 'b', run = ['y']}]")
    assert [command.name for command in settings.commands] == ["a", "b"]
    assert len(problems) == 1
    assert problems[0].startswith('"commands[2]"')


def test_config_tells_where_the_settings_lie_and_what_is_wrong(own_home: Path, capsys):
    assert main(["config"]) == 0
    shown = capsys.readouterr()
    path = own_home / ".config/sessionbrowse/config.toml"
    assert shown.out == f"{path}\n"
    assert "all defaults apply" in shown.err
    path.parent.mkdir(parents=True)
    path.write_text("thme = 'light'\n[resume]\nin = 'tmux-split'\n")
    assert main(["config", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["path"], document["exists"]) == (str(path), True)
    assert 'Did you mean "theme"?' in document["problems"][0]
    assert document["settings"]["resume"] == {"in": "tmux-split", "command": []}


def test_config_names_the_settings_that_the_browser_cannot_use(own_home: Path, capsys):
    path = own_home / ".config/sessionbrowse/config.toml"
    path.parent.mkdir(parents=True)
    own = "[[commands]]\nname = 'Mine'\nrun = 'echo {nope}'\n"
    path.write_text(f"theme = 'darkk'\n[keys]\nresum = 'z'\n{own}")
    assert main(["config"]) == 0
    said = capsys.readouterr().err
    assert 'There is no theme named "darkk"' in said
    assert "there is no command named 'resum'." in said
    assert "uses the unknown placeholder {nope}" in said


def test_config_names_agents_commands_and_patterns_that_nothing_can_use(own_home: Path, capsys):
    path = own_home / ".config/sessionbrowse/config.toml"
    path.parent.mkdir(parents=True)
    wrong = 'redact_patterns = ["("]\n[agents]\npy = ["npx", "pi"]\npi = ["npx", "pi"]\n[resume]\nin = "command"\n'
    path.write_text(wrong)
    assert main(["config"]) == 0
    said = capsys.readouterr().err
    assert 'There is no agent "py"; "agents.py" is ignored.' in said
    assert "agents.pi" not in said
    assert "Not configured: set resume.command." in said
    assert '"redact_patterns": ( is not valid (' in said
    path.write_text(wrong.replace('"("', '"a"').replace("py =", "omp =") + 'command = ["kitty", "{argv}"]\n')
    assert main(["config"]) == 0
    assert not capsys.readouterr().err


def test_config_tells_which_versions_of_the_agents_are_installed_and_tested(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    package = tmp_path / "lib/node_modules/@earendil-works/pi-coding-agent"
    (package / "dist").mkdir(parents=True)
    (package / "package.json").write_text('{"version": "1.7.0"}')
    program = package / "dist/cli.js"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    (tmp_path / "pi").symlink_to(program)
    compiled = tmp_path / "omp"  # A program in one file, without a package beside it.
    compiled.write_bytes(b"\x7fELF")
    compiled.chmod(0o755)
    assert main(["config", "--agents"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["pi", "1.7.0", ", ".join(AGENTS["pi"].tested_versions), str(tmp_path / "pi")]
    assert rows[1][:2] == ["omp", "unknown"]
    assert [row[1] for row in rows[2:]] == ["no", "no", "no", "no"]
    assert main(["config", "--json"]) == 0
    agents = json.loads(capsys.readouterr().out)["agents"]
    assert agents["pi"]["installed"] == "1.7.0"
    assert agents["omp"] == {
        "command": str(compiled),
        "installed": None,
        "tested": list(AGENTS["omp"].tested_versions),
    }


def test_config_prints_the_example_and_the_keys(own_home: Path, capsys):
    assert main(["config", "--example"]) == 0
    assert capsys.readouterr().out == example()
    assert main(["config", "--keys"]) == 0
    assert "resume\tr\t" in capsys.readouterr().out
