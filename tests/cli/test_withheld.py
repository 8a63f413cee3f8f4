"""An agent that runs any command learns nothing of the sessions that the user hides from agents."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.cli import main
from sessionbrowse.cli.parser import AGENT_VARIABLES, MODULE_OF_COMMAND
from tests.support.story_support import StoryHome

SETTINGS = '[not_for_agents]\ndirectories = ["~/dev/secret"]\nlabels = ["Secret label"]\nsessions = ["{id}"]\n'

COMMANDS = [
    ["list"], ["list", "--json"], ["list", "--null"], ["list", "--families"], ["list", "secret"], ["list", "--path"],
    ["projects"], ["projects", "--json"], ["labels"], ["labels", "--json"], ["stats", "--by", "session"],
    ["stats", "--by", "project", "--csv"], ["stats", "--by", "family", "--json"], ["search", "topic"],
    ["search", "secretword"], ["show", "latest"], ["show", "SECRET"], ["tree", "SECRET"], ["context", "SECRET"],
    ["diff", "SECRET", "e01", "e02"], ["resume", "SECRET", "--print"], ["export", "SECRET", "--format", "json"],
    ["rename", "SECRET", "x"], ["label", "SECRET", "e01", "x"], ["checkout", "SECRET", "e01"], ["fork", "SECRET"],
    ["convert", "SECRET", "--to", "omp"],
    ["archive", "SECRET"], ["unarchive", "SECRET"], ["prune", "SECRET", "--abandoned", "--in-place"],
    ["shrink", "SECRET", "--images", "--in-place"], ["redact", "SECRET", "--to", "r.jsonl", "--yes"],
    ["doctor", "SECRET"], ["delete", "SECRET", "--yes"], ["show", "019bee"], ["show", "no such"],
    ["doctor"], ["doctor", "--json"], ["cleanup"], ["cleanup", "--json"], ["cleanup", "--yes", "--kind", "broken"],
    ["undo", "--list"], ["undo", "--list", "--json"], ["restore", "--list"], ["restore", "--list", "--json"],
    ["relocate", "DEV/secret", "DEV/other", "--dry-run"], ["relocate", "DEV", "DEV2", "--dry-run"],
    ["relocate", "DEV", "DEV2", "--dry-run", "--json"], ["relocate", "DEV/secret"], ["relocate", "DEV/open"],
    ["undo", "UNDO"], ["restore", "UNDO"], ["restore", "SECRETID"], ["undo"], ["restore"], ["relocate", "DEV", "DEV2"],
    ["machines"], ["machines", "--json"],
    ["index"], ["index", "--status"], ["config"], ["integrate", "pi", "--print"], ["shell", "bash"],
    ["completion", "bash"], ["__complete", "show", ""], ["__complete", "show", "s"], ["__complete", "show", "019"],
    ["__complete", "checkout", "SECRET", ""], ["__complete", "checkout", "SECRETID", ""],
    ["__complete", "--root", "DEV", "list", "--cwd", ""],
]  # fmt: skip


def id_of(path: Path) -> str:
    return str(json.loads(path.read_text().split("\n")[0])["id"])


@pytest.fixture
def story(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> StoryHome:
    """A person with open sessions, and secret ones: by directory, id, label, and as a fork; all changed and damaged."""
    for name in AGENT_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    home = StoryHome(own_home)
    monkeypatch.chdir(own_home)
    stamp = {"parentId": "e02", "timestamp": "2026-01-02T03:04:05.000Z"}
    damage: list[dict[str, Any]] = [
        {"type": "message", "id": "odd", **stamp, "message": {"role": "assistant", "content": "x"}}
    ]

    def named(text: str) -> list[dict[str, Any]]:
        return [*damage, {"type": "session_info", "id": "nam", **stamp, "name": text}]

    def session(project: str, word: str, **more: object) -> Path:
        return home.session(home.project(project), [f"topic {word}", "Yes."], more=named(f"name {word}"), **more)  # type: ignore[arg-type]

    session("open", "openword", days_ago=9)
    for number in range(2):
        session("secret/project", f"secretword{number}", days_ago=number + 1)
    by_id = session("open", "secretword3", days_ago=4)
    label = {"type": "label", "id": "lab", **stamp, "targetId": "e01", "label": "secret LABEL"}
    home.session(home.project("open"), ["topic secretword4", "Yes."], more=[*damage, label], days_ago=5)
    fork = session("open", "secretword5", days_ago=6)
    head, rest = fork.read_text().split("\n", 1)
    fork.write_text(json.dumps({**json.loads(head), "parentSession": str(by_id)}) + "\n" + rest)
    settings = own_home / "config.toml"
    settings.write_text(SETTINGS.format(id=id_of(by_id)))
    monkeypatch.setenv("SESSIONBROWSE_CONFIG", str(settings))
    return home


def as_a_person(*commands: list[str]) -> None:
    for words in commands:
        assert main(words) in (0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("variable", AGENT_VARIABLES)
@pytest.mark.parametrize("indexed", [True, False])
def test_no_command_tells_an_agent_of_an_excluded_session(
    story: StoryHome,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    variable: str,
    indexed: bool,
) -> None:
    files = sorted(story.home.rglob("*.jsonl"))
    (opened,) = [path for path in files if "openword" in path.read_text()]
    secret_ids = [id_of(path) for path in files if path != opened]
    assert len(secret_ids) == 5
    first, second = sorted(story.sessions_of(story.project("secret/project")).iterdir())
    gone = next(path for path in files if "secretword3" in path.read_text())
    secret_id = id_of(first)
    as_a_person(
        ["rename", str(opened), "open name"],
        ["label", str(opened), "e01", "open label"],
        ["rename", str(first), "secret new name"],
        ["label", str(second), "e01", "secret new label"],
        ["archive", str(second)],
        ["delete", str(gone), "--yes", "--own-trash"],
        *([["index"]] if indexed else []),
    )
    capfdbinary.readouterr()
    main(["undo", "--list", "--json"])
    undo_ids = [row["undo_id"] for row in json.loads(capfdbinary.readouterr().out) if row["path"] != str(opened)]
    assert len(undo_ids) == 4
    words = {"SECRETID": secret_id, "SECRET": str(first), "UNDO": undo_ids[0]}
    monkeypatch.setenv(variable, "1")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    before = {
        path: path.read_bytes()
        for path in story.home.rglob("*.jsonl")
        if path != opened and path.name != "journal.jsonl"
    }
    told = []
    for command in COMMANDS:
        asked = [words.get(word, word.replace("DEV", str(story.home / "dev"))) for word in command]
        main(asked)
        printed = b"".join(capfdbinary.readouterr()).decode()
        for word in asked:
            if word in words.values() or "ecret" in word:
                printed = printed.replace(word, "")
        if "secret" in printed.casefold() or any(one in printed for one in secret_ids):
            told.append((command, printed[-600:]))
    assert told == []
    assert before == {path: path.read_bytes() for path in before}


@pytest.mark.slow
def test_an_agent_still_sees_and_undoes_changes_of_other_sessions(
    story: StoryHome, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (opened,) = [path for path in story.home.rglob("*.jsonl") if "openword" in path.read_text()]
    secret = next(story.sessions_of(story.project("secret/project")).iterdir())
    as_a_person(["rename", str(opened), "open name"], ["index"], ["rename", str(secret), "secret name"])
    monkeypatch.setenv("CLAUDECODE", "1")
    capfdbinary.readouterr()
    assert main(["__complete", "show", "019"]) == 0
    offered = capfdbinary.readouterr().out.decode().splitlines()
    assert [line.split("\t")[0] for line in offered] == [id_of(opened)]
    main(["undo", "--list", "--json"])
    assert [row["path"] for row in json.loads(capfdbinary.readouterr().out)] == [str(opened)]
    assert main(["undo"]) == 0, "the last change that it may see"
    assert "open name" not in opened.read_text() or opened.read_text().count("session_info") == 3
    assert main(["doctor"]) in (0, 1)
    assert str(opened) in capfdbinary.readouterr().out.decode()
    assert main(["delete", str(opened), "--yes", "--own-trash"]) == 0
    capfdbinary.readouterr()
    assert main(["restore", "--list"]) == 0
    assert opened.name in capfdbinary.readouterr().out.decode()
    assert main(["restore"]) == 0
    assert opened.exists()


def test_every_command_is_run_for_an_agent() -> None:
    assert {words[0] for words in COMMANDS} >= set(MODULE_OF_COMMAND) - {"pick", "demo"}
