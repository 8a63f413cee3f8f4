"""What the README and its pages tell people to type works as it stands there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sessionbrowse.agents import AGENTS
from sessionbrowse.cli import main
from sessionbrowse.cli.parser import parse
from sessionbrowse.config import parse_settings
from sessionbrowse.store.read.session_file import open_session

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
COMMANDS = (ROOT / "docs/command-line.md").read_text()
CUSTOMISE = (ROOT / "docs/customise.md").read_text()
PAGES = {path: path.read_text() for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]}


def block(page: str, language: str, number: int = 0) -> str:
    return str(re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)[number])


def test_the_readme_is_short_and_in_the_order_of_a_reader():
    assert len(README.splitlines()) <= 200
    titles = re.findall("(?m)^## (.*)", README)
    wanted = [
        "Install",
        "Five things to do first",
        "What it reads, and for whom it is not",
        "Safety",
        "Questions",
        "More",
    ]
    assert titles == wanted
    assert README.index("screenshots/tour.svg") < README.index("## Install")
    safety = README.partition("## Safety\n")[2].partition("\n## ")[0]
    assert len(re.findall("(?m)^- ", safety)) == 5


def test_every_link_between_the_pages_leads_to_a_file():
    links = [(page, link) for page, text in PAGES.items() for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text)]
    assert len(links) > 30
    missing = [(page.name, link) for page, link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_a_promise_names_tests_that_exist():
    named = re.findall(r"`(tests/[\w/.]+)`", PAGES[ROOT / "docs/promises.md"])
    assert len(named) >= 6
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_settings_of_the_readme_have_no_clash(own_home: Path, monkeypatch, capsys):
    (own_home / "backup/.pi/agent").mkdir(parents=True)
    path = own_home / "config.toml"
    path.write_text(block(CUSTOMISE, "toml"))
    monkeypatch.setenv("SESSIONBROWSE_CONFIG", str(path))
    assert main(["config", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["problems"] == []


def test_the_script_labels_what_it_finds(own_home: Path, capsys):
    folder = own_home / ".pi/agent/sessions/--w--"
    folder.mkdir(parents=True)
    lines = [
        {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/w"},
        {
            "type": "message",
            "id": "aaaaaaaa",
            "parentId": None,
            "timestamp": "2026-01-02T03:04:06.000Z",
            "message": {"role": "user", "content": "why is this test flaky?", "timestamp": 1767323046000},
        },
    ]
    path = folder / "s.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    exec(compile(block(COMMANDS, "python"), "command-line.md", "exec"), {})
    assert capsys.readouterr().out == "why is this test flaky? aaaaaaaa\n"
    session = open_session(path)
    assert {session.envelopes[index].id: mark.text for index, mark in session.labels.items()} == {
        "aaaaaaaa": "flaky test"
    }


def test_the_settings_are_all_known():
    settings, problems = parse_settings(block(CUSTOMISE, "toml"))
    assert problems == []
    assert settings.agents["pi"] == ("npx", "pi")


def test_the_versions_are_those_that_were_tested():
    comparison = PAGES[ROOT / "docs/comparison.md"]
    table = next(line for line in comparison.splitlines() if line.startswith("| as of "))
    formats = (ROOT / "docs/formats.md").read_text()
    for agent in AGENTS.values():
        newest = agent.tested_versions[0]
        assert f"{agent.name} {newest}" in table or agent.name not in table.split()
        assert re.search(rf"{agent.name} ([\d.]+ to )?{re.escape(newest)}\b", formats)


def test_every_picture_is_there():
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert len(pictures) >= 4
    assert [picture for picture in pictures if not (ROOT / picture).is_file()] == []


def test_every_command_in_the_table_exists(capsys):
    commands = set(re.findall(r"`sessionbrowse ([a-z]+)", README + COMMANDS))
    assert {"list", "search", "rename", "relocate"} <= commands
    for command in sorted(commands):
        with pytest.raises(SystemExit) as stopped:
            parse([command, "--help"])
        assert stopped.value.code == 0, command
    capsys.readouterr()


def test_every_command_in_the_table_has_json_but_those_that_the_page_names(capsys):
    sentence = re.search(r"prints one JSON document for scripts, except\n(.*?);", COMMANDS, re.DOTALL)
    assert sentence is not None
    without = []
    for command in sorted(set(re.findall(r"`sessionbrowse ([a-z]+)", COMMANDS))):
        with pytest.raises(SystemExit):
            parse([command, "--help"])
        if "--json" not in capsys.readouterr().out:
            without.append(command)
    assert without == sorted([*re.findall(r"`([a-z]+)`", sentence[1]), "export"])


def test_a_choice_that_was_cancelled_starts_no_agent():
    assert 'path=$(sessionbrowse pick) && pi --session "$path"' in block(COMMANDS, "sh")
