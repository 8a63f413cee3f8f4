"""Output for a language model: small, marked as a quotation, without the sessions that the user excludes."""

from __future__ import annotations

import json
import random
import re
import shlex
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from sessionbrowse.cli.output import MOST_CHARACTERS, QUOTED, short_document
from sessionbrowse.cli.parser import parse
from sessionbrowse.services import integrate
from tests.support.story_support import StoryHome

LABEL = {"type": "label", "id": "lab1", "parentId": "e02", "timestamp": "2026-08-01T00:00:00.000Z", "targetId": "e02"}


@pytest.fixture
def story(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> StoryHome:
    for name in ("PI_CODING_AGENT", "OMPCODE", "CLAUDECODE"):
        monkeypatch.delenv(name, raising=False)
    return StoryHome(own_home)


def settings(story: StoryHome, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = story.home / "config.toml"
    file.write_text(text)
    monkeypatch.setenv("SESSIONBROWSE_CONFIG", str(file))


def commands(path: Path, session_id: str) -> list[list[str]]:
    """Return every command that the skill names, for a session."""
    return [
        ["list"],
        ["list", "topic"],
        ["search", "topic"],
        ["labels"],
        ["stats", "--by", "session"],
        ["stats", "topic", "--by", "project"],
        ["show", str(path)],
        ["show", session_id],
        ["context", str(path), "--at", "e02"],
        ["diff", str(path), "e01", "e02"],
    ]


@pytest.mark.slow
def test_excluded_sessions_never_appear(
    story: StoryHome, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    chooser = random.Random(7)
    made: list[tuple[Path, str, str]] = []
    for number in range(9):
        project = story.project(chooser.choice(["shop", "taxes", "taxes/2026"]))
        label = chooser.choice(["", "Private", "kept"])
        more = [LABEL | {"label": label}] if label else []
        path = story.session(project, [f"topic secret{number}x", "Yes."], more=more)
        made.append((path, str(project), label))
    for excluded in range(6):
        by_directory, by_label = excluded % 2 == 0, excluded % 3 != 0
        by_session = {path for path, _, _ in chooser.sample(made, excluded % 3)}
        lines = ["[not_for_agents]"]
        lines += ['directories = ["~/dev/taxes"]'] if by_directory else []
        lines += ['labels = ["private"]'] if by_label else []
        lines.append(f"sessions = {json.dumps([path.name.split('_')[1][:-6] for path in by_session])}")
        settings(story, "\n".join(lines), monkeypatch)
        hidden = {
            number
            for number, (path, project, label) in enumerate(made)
            if path in by_session or (by_label and label == "Private") or (by_directory and "taxes" in project)
        }
        for in_environment in (False, True):
            for path, _, _ in chooser.sample(made, 2):
                for command in commands(path, path.name.split("_")[1][:-6]):
                    if in_environment:
                        monkeypatch.setenv("PI_CODING_AGENT", "true")
                        main([*command, "--json"])
                    else:
                        monkeypatch.delenv("PI_CODING_AGENT", raising=False)
                        main([*command, "--for-agent"])
                    printed = b"".join(capfdbinary.readouterr()).decode()
                    asked = " ".join(command)
                    for number in hidden:
                        assert f"secret{number}x" not in printed, command
                        name = made[number][0].name
                        assert name not in printed or name in asked, command


@pytest.mark.slow
@pytest.mark.parametrize("spelled", ["real-secret", "secret", "hid//z", "hid/../hid/", "./hid", "~"])
def test_every_spelling_of_an_excluded_directory_is_withheld(
    story: StoryHome, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], spelled: str
) -> None:
    """`~/secret` is a link; agents store the path with or without links, and not always in its normal form."""
    for name in ("real-secret", "hid/z"):
        (story.home / name).mkdir(parents=True)
    (story.home / "secret").symlink_to("real-secret")
    path = story.session(story.project("shop"), ["topic secretword", "Yes."])
    cwd = f"{story.home}/{spelled}" if spelled != "~" else "~/hid/z"
    path.write_text(path.read_text().replace(json.dumps(str(story.home / "dev/shop")), json.dumps(cwd)))
    for excluded in ('["~/secret", "~/hid"]', '["~/real-secret", "~//hid/."]'):
        settings(story, f"[not_for_agents]\ndirectories = {excluded}", monkeypatch)
        for command in commands(path, path.name.split("_")[1][:-6]):
            main([*command, "--for-agent"])
            printed = b"".join(capfdbinary.readouterr()).decode()
            assert "secretword" not in printed, command


def test_a_session_excluded_by_a_path_with_links_is_withheld(
    story: StoryHome, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = story.session(story.project("shop"), ["topic secretword", "Yes."])
    (story.home / "stow").symlink_to(path.parent)
    settings(story, f'[not_for_agents]\nsessions = ["~/stow/{path.name}"]', monkeypatch)
    main(["list", "--for-agent"])
    assert path.name not in capfdbinary.readouterr().out.decode()


def test_a_session_whose_directory_is_on_a_dead_disk_is_withheld(
    story: StoryHome, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = story.session(story.project("shop"), ["topic secretword", "Yes."])
    settings(story, '[not_for_agents]\ndirectories = ["~/secret"]', monkeypatch)
    monkeypatch.setattr("sessionbrowse.store.find.slow_disks.real_many", lambda paths: dict.fromkeys(paths))
    main(["list", "--for-agent"])
    assert path.name not in capfdbinary.readouterr().out.decode()


@pytest.mark.slow
def test_what_was_made_from_an_excluded_session_never_appears(
    story: StoryHome, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Random families of forks; each file holds a word of its own and those of the sessions it was made from."""
    chooser = random.Random(11)
    for case in range(3):
        made: list[tuple[Path, str, int | None]] = []
        for number in range(7):
            parent = chooser.choice([None, *range(len(made))])
            project = story.project(chooser.choice(["shop", "taxes"]))
            path = story.session(project, [f"topic secret{case}x{number}x", "Yes."])
            header, rest = path.read_text().split("\n", 1)
            fields = json.loads(header)
            if parent is not None:
                fields["parentSession"] = str(made[parent][0])
            path.write_text(json.dumps(fields) + "\n" + rest)
            made.append((path, fields["id"], parent))
        hidden = set(chooser.sample(range(7), 2))
        gone = {number for number in hidden if chooser.random() < 0.3}
        for number in gone:
            made[number][0].unlink()
        settings(story, f"[not_for_agents]\nsessions = {json.dumps([made[n][1] for n in hidden])}", monkeypatch)
        for number, (_, _, parent) in enumerate(made):
            hidden |= {number} if parent in hidden else set()
        for number in sorted({*range(7)} - gone):
            path, session_id, _ = made[number]
            for command in commands(path, session_id):
                main([*command, "--for-agent"])
                printed = b"".join(capfdbinary.readouterr()).decode()
                for secret in hidden:
                    assert f"secret{case}x{secret}x" not in printed, (case, secret, command)
                if command[0] == "show" and number not in hidden:
                    assert session_id in printed, (case, number, command)
        for path, _, _ in made:
            path.unlink(missing_ok=True)


def test_without_exclusions_all_is_shown_and_marked_as_a_quotation(
    story: StoryHome, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = story.session(story.project("shop"), ["topic " + "long " * 2000, "Yes."])
    for command in commands(path, path.name.split("_")[1][:-6]):
        assert main([*command, "--for-agent"]) == 0
        printed = capfdbinary.readouterr().out
        assert len(printed.decode()) <= MOST_CHARACTERS + 1
        document = json.loads(printed)
        assert document["note"] == QUOTED
        assert document["result"] is not None, command
    main(["context", str(path), "--json"])
    assert len(capfdbinary.readouterr().out) > 10_000, "plain JSON stays as it is"


@pytest.mark.parametrize("command", [["list"], ["list", "topic"], ["search", "topic"], ["labels"], ["stats"]])
def test_without_an_index_an_agent_waits_only_for_the_newest_files_and_is_told(
    story: StoryHome, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], command: list[str]
) -> None:
    label = LABEL | {"label": "kept"}
    made = [story.session(story.project("shop"), [f"topic {n}", "Yes."], days_ago=n, more=[label]) for n in range(5)]
    monkeypatch.setattr("sessionbrowse.cli.parser.MOST_UNREAD", made[0].stat().st_size * 2)
    assert main([*command, "--for-agent"]) == 0
    document = json.loads(capfdbinary.readouterr().out)
    assert document["note"].startswith(QUOTED)
    assert "Only the newest 2 of 5 sessions" in document["note"]
    if command[0] != "stats":
        assert {row["path"] for row in document["result"]} == {str(path) for path in made[:2]}
    assert main([*command, "--json"]) == 0
    assert str(made[4]) in capfdbinary.readouterr().out.decode() or command[0] == "stats"
    assert main(["index"]) == 0
    capfdbinary.readouterr()
    assert main([*command, "--for-agent"]) == 0
    document = json.loads(capfdbinary.readouterr().out)
    assert document["note"] == QUOTED


def test_a_session_that_was_not_listed_for_lack_of_an_index_is_found_and_judged_alone(
    story: StoryHome, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    made = [story.session(story.project("shop"), [f"topic {n}", "Yes."], days_ago=n) for n in range(5)]
    ids = [path.name.split("_")[1][:-6] for path in made]
    monkeypatch.setattr("sessionbrowse.cli.parser.MOST_UNREAD", made[0].stat().st_size * 2)
    settings(story, f'[not_for_agents]\nsessions = ["{ids[3]}"]', monkeypatch)
    for number in (1, 4):
        assert main(["show", str(made[number]), "--for-agent"]) == 0
        assert ids[number] in capfdbinary.readouterr().out.decode()
    assert main(["show", str(made[3]), "--for-agent"]) == 1
    assert f"No session matches '{made[3]}'" in capfdbinary.readouterr().err.decode()


def test_the_end_of_a_context_counts_more_than_its_beginning() -> None:
    document = {"messages": [{"text": f"message {number}"} for number in range(400)]}
    answer = short_document(document)
    assert answer["result"]["messages"][-1] == {"text": "message 399"}
    assert answer["shortened"]


@pytest.mark.parametrize("size", [10, 100, 1000, 20_000])
def test_any_document_becomes_short_enough(size: int) -> None:
    chooser = random.Random(size)
    document = [
        {f"key{number % 7}": "ab\u2028" * chooser.randrange(size), "more": list(range(chooser.randrange(50)))}
        for number in range(chooser.randrange(200))
    ]
    assert len(json.dumps(short_document(document), ensure_ascii=True)) <= MOST_CHARACTERS * 2


def test_the_skill_names_only_commands_and_options_that_exist() -> None:
    text = (Path(integrate.__file__).parent.parent / "inside/SKILL.md").read_text()
    assert text.startswith("---\nname: sessionbrowse\ndescription: ")
    named = [shlex.split(line)[1:] for line in re.findall(r"`(@RUN@ [^`]+)`", text)]
    assert {words[0] for words in named} == {"list", "labels", "search", "context", "show", "diff", "stats"}
    assert all(parse(words).for_agent for words in named)
