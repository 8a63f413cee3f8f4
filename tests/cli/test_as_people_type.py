"""The command line as people type it: mistakes, examples, filters, and what the next program gets."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from sessionbrowse.cli.parser import AGENT_NAMES, MODULE_OF_COMMAND, examples, make_parser, parse
from sessionbrowse.demo import make_demo
from tests.house import PACKAGE

EXAMPLES = {command: examples(command) for command in MODULE_OF_COMMAND}
READING = {"list", "projects", "labels", "stats", "search", "show", "tree", "context", "doctor"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_demo(tmp_path_factory.mktemp("demo"))


def asked(capfd, demo: Path, *words: str) -> str:
    """Return what a command prints for the demo store."""
    roots = [word for agent in AGENT_NAMES for word in ("--root", str(demo / agent))]
    assert main([*words, *roots]) == 0
    return str(capfd.readouterr().out)


@pytest.mark.parametrize(
    ("typed", "usage", "sentence"),
    [
        (["lst"], "sessionbrowse", "There is no command 'lst'. Did you mean list?"),
        (["reanme", "x", "y"], "sessionbrowse", "There is no command 'reanme'. Did you mean rename?"),
        (["zzz"], "sessionbrowse", "There is no command 'zzz'. --help lists them."),
        (["list", "--lim", "1"], "sessionbrowse list", "There is no option --lim. Did you mean --limit?"),
        (["--json", "list"], "sessionbrowse list", "--json goes after the command: sessionbrowse list --json."),
        (["pick", "--jsn"], "sessionbrowse pick", "There is no option --jsn. Did you mean --json?"),
        (["show", "a", "b"], "sessionbrowse show", "There are too many arguments: b."),
        (["stats", "--by", "modle"], "sessionbrowse stats", "'modle' is not one of"),
        (["stats", "--by", "modle"], "sessionbrowse stats", "Did you mean model?"),
        (["list", "--limit", "x"], "sessionbrowse list", "'x' is not a whole number."),
        (["list", "--limit", "-1"], "sessionbrowse list", "-1 is less than 0."),
        (["list", "--agent", "omq"], "sessionbrowse list", "Did you mean omp?"),
        (["search", "--fields", "path,entry", "x"], "sessionbrowse search", "Did you mean entry_id?"),
        (["search", "a", "-docker"], "sessionbrowse search", "To exclude a word from the search, write -- before"),
        (["pick", "-docker"], "sessionbrowse pick", "There is no option -docker."),
        (["doctor", "--zzz"], "sessionbrowse doctor", "There is no option --zzz."),
        (["diff", "latest", "a"], "sessionbrowse diff [OPTIONS] REF ENTRY ENTRY", "ENTRY is missing."),
        (["rename", "latest"], "sessionbrowse rename [OPTIONS] REF (NAME | --clear)", "NAME or --clear is missing."),
        (["redact", "x"], "sessionbrowse redact [OPTIONS] REF --to FILE", "--to is missing."),
        (["list", "--root", ""], "sessionbrowse list", "the directory's name is empty."),
    ],
)
def test_a_mistake_gets_the_usage_of_the_command_that_was_meant(typed, usage, sentence, capfd):
    assert main(typed) == 2
    said = capfd.readouterr().err
    first, last = said.splitlines()
    assert first.startswith(f"usage: {usage}{'' if '[' in usage else ' [OPTIONS]'}")
    assert first.endswith(f"(see {' '.join(usage.split()[:2]).removesuffix(' [OPTIONS]')} --help)")
    assert sentence in last


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        (["search", "role:usr", "x"], "Did you mean user?"),
        (["search", "agent:omq", "x"], "Did you mean omp?"),
        (["show", "zzzz"], "No session matches 'zzzz'. `sessionbrowse list` shows the sessions."),
        (["context", "latest", "--at", "zzzz"], "`sessionbrowse tree --ids` shows a session's entries"),
        (["rename", "latest", ""], "The name is empty. --clear takes it away."),
    ],
)
def test_a_refusal_says_what_to_type_next(typed: list[str], sentence: str, capfd, demo: Path):
    assert main([*typed, "--root", str(demo / "pi")]) == 1
    assert sentence in capfd.readouterr().err


def test_role_summary_finds_every_kind_of_summary(capfd, demo: Path):
    found = json.loads(asked(capfd, demo, "search", "role:summary", "--limit", "50", "--json"))
    assert {hit["role"] for hit in found} == {"compaction", "branch_summary", "session_summary"}


def test_the_titles_of_help_begin_with_a_verb_and_end_without_a_full_stop():
    commands = next(action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))
    for command, parser in commands.choices.items():
        assert parser.description[:1].isupper(), command
        assert not parser.description.endswith("."), command
        for action in parser._actions:
            assert action.help == argparse.SUPPRESS or not (action.help or "").endswith("."), (command, action.dest)


def test_each_command_has_examples_that_are_right(capfd, demo: Path):
    listed = (PACKAGE / "cli" / "examples.txt").read_text().splitlines()
    assert sum(map(len, EXAMPLES.values())) == len(listed)
    for command, pairs in EXAMPLES.items():
        assert pairs, command
        for typed, does in pairs:
            assert does
            line = typed[typed.index("sessionbrowse") :].split("|")[0].split(">")[0].split(")")[0]
            arguments = shlex.split(line)[1:]
            assert parse(arguments).command == command, typed
    with pytest.raises(SystemExit):
        parse(["search", "--help"])
    assert "role:user" in capfd.readouterr().out


def test_the_quotes_of_a_phrase_reach_the_search_through_the_shell():
    phrases = [typed for typed, does in EXAMPLES["search"] if "phrase" in does]
    assert phrases
    for typed in phrases:
        assert '"flaky test"' in " ".join(shlex.split(typed)), typed


READS = [typed for name in sorted(READING) for typed, _ in EXAMPLES[name] if "01a2" not in typed]


@pytest.mark.parametrize("typed", READS)
def test_an_example_that_reads_runs(typed: str, capfd, demo: Path):
    roots = [word for agent in AGENT_NAMES for word in ("--root", str(demo / agent))]
    words = shlex.split(typed.split("|")[0])[1:]
    assert main([*words, *roots]) in (0, 1)
    said = capfd.readouterr()
    assert said.out or "not exist" in said.err or "nothing found" in said.err or "no session found" in said.err


def test_the_ids_that_a_tree_prints_are_those_that_commands_take(capfd, demo: Path):
    rows = json.loads(asked(capfd, demo, "tree", "Refactor auth module", "--json"))["rows"]
    plain = asked(capfd, demo, "tree", "Refactor auth module").splitlines()
    with_ids = asked(capfd, demo, "tree", "Refactor auth module", "--ids").splitlines()
    assert with_ids == [f"{row['id']}  {line}" for row, line in zip(rows, plain, strict=True)]
    assert rows[3]["id"] in asked(capfd, demo, "context", "Refactor auth module", "--at", with_ids[3].split()[0])


def test_a_context_shows_the_calls_of_an_answer_without_words(capfd, demo: Path):
    messages = json.loads(asked(capfd, demo, "context", "deploy script", "--json"))["messages"]
    silent = [one for one in messages if one["role"] == "assistant" and not one["text"]]
    assert [one["calls"][0] for one in silent][:2] == ["[ls: scripts]", "[write: scripts/deploy.sh]"]
    said = asked(capfd, demo, "context", "deploy script")
    assert f"· {silent[0]['entry_id']} · {silent[0]['tokens']}\n[ls: scripts]\n\n" in said


def test_a_directory_takes_those_below_it_along(capfd, demo: Path):
    shop = str(demo / "home/dev/webshop")
    dev = str(demo / "home/dev")
    only = json.loads(asked(capfd, demo, "list", "--cwd", shop, "--json"))
    below = json.loads(asked(capfd, demo, "list", "--cwd", dev, "--under", "--json"))
    assert {each["cwd"] for each in only} == {shop}
    assert {each["cwd"] for each in below} > {shop}
    for command in ("projects", "labels"):
        found = json.loads(asked(capfd, demo, command, "--cwd", dev, "--under", "--json"))
        assert {each["cwd"] for each in found} > {shop}, command
        assert {each["cwd"] for each in json.loads(asked(capfd, demo, command, "--cwd", shop, "--json"))} == {shop}


def test_labels_and_projects_are_filtered_by_words_and_time(capfd, demo: Path):
    every = json.loads(asked(capfd, demo, "labels", "--json"))
    found = json.loads(asked(capfd, demo, "labels", "JWT", "--json"))
    assert {each["label"] for each in found} >= {"jwt-works"}
    assert len(found) < len(every)
    times = sorted(each["time"] for each in every)
    middle = times[len(times) // 2]
    late = json.loads(asked(capfd, demo, "labels", "--since", middle, "--json"))
    early = json.loads(asked(capfd, demo, "labels", "--until", middle, "--json"))
    assert 0 < len(late) < len(every)
    assert 0 < len(early) < len(every)
    assert {each["entry_id"] for each in late} | {each["entry_id"] for each in early} == {e["entry_id"] for e in every}
    assert len(json.loads(asked(capfd, demo, "labels", "--limit", "2", "--json"))) == 2
    assert [each["cwd"][-7:] for each in json.loads(asked(capfd, demo, "projects", "SHOP", "--json"))] == ["webshop"]
    assert len(json.loads(asked(capfd, demo, "projects", "--limit", "2", "--json"))) == 2
    assert json.loads(asked(capfd, demo, "projects", "--since", "2100-01-01", "--json")) == []


def test_a_pipe_gets_whole_ids_and_paths(capfd, demo: Path):
    documents = json.loads(asked(capfd, demo, "list", "--json"))
    rows = asked(capfd, demo, "list").splitlines()
    assert [row.split("\t")[-1] for row in rows] == [each["id"] for each in documents]
    assert asked(capfd, demo, "list", "--null").split("\0")[:-1] == [each["path"] for each in documents]
    hit = json.loads(asked(capfd, demo, "search", "jwt", "--json"))[0]
    assert hit["id"] in asked(capfd, demo, "search", "jwt").splitlines()[0]
    (label, *_) = json.loads(asked(capfd, demo, "labels", "--json"))
    assert asked(capfd, demo, "labels").splitlines()[0].endswith(f"{label['id']} {label['entry_id']}")


@pytest.mark.parametrize("command", [["doctor"], ["shrink", "--images"], ["prune", "--abandoned"]])
def test_latest_is_replaced_only_with_the_option_that_the_refusal_names(command, capfd, tmp_path: Path):
    store = make_demo(tmp_path / "demo") / "pi"
    words = [*command, "latest", "--in-place", "--root", str(store)]
    assert main(words) == 1
    assert "add --yes" in capfd.readouterr().err
    assert main([*words, "--yes", "--force"]) in (0, 1)
    assert "add --yes" not in capfd.readouterr().err


def test_every_option_has_a_help_text():
    commands = next(action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))
    for name, command in commands.choices.items():
        for action in command._actions:
            assert action.help, f"{name} {action.dest}"
            assert not action.help.endswith("."), f"{name} {action.dest}: titles have no full stop"


def test_the_demo_is_kept_on_request_and_replaces_nothing(capfd, tmp_path: Path):
    made = tmp_path / "a sample"
    assert main(["demo", "--to", str(made)]) == 0
    said = capfd.readouterr()
    assert said.out == f"{made}\n"
    assert f"sessionbrowse list --root '{made}' lists them." in said.err
    assert len(json.loads(asked(capfd, made, "list", "--json"))) > 10
    before = sorted(made.rglob("*"))
    assert main(["demo", "--to", str(made)]) == 1
    assert "is not an empty directory" in capfd.readouterr().err
    assert sorted(made.rglob("*")) == before
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    for refused in ("file", "file/below", "link", "nul\0byte"):
        assert main(["demo", "--to", str(tmp_path / refused)]) == 1
    assert (tmp_path / "file").read_text() == "mine"
