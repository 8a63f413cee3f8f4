"""The command line is a contract: what goes to stdout, to stderr, and the exit status."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from sessionbrowse.cli.parser import Help, columns
from sessionbrowse.demo import make_demo

NOW_MS = 1_790_000_000_000


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_demo(tmp_path_factory.mktemp("demo"), now_ms=NOW_MS)


@pytest.fixture
def ask(store, capfdbinary):
    """Run one command on the demo store and return its exit status, parsed or raw stdout, and stderr."""

    def run(*argv, parse=True, roots=True):
        status = main([*argv, *(["--root", str(store)] if roots else [])])
        out, err = capfdbinary.readouterr()
        return status, json.loads(out) if parse and out else out, err.decode()

    return run


def write_session(folder: Path, session_id: str, *lines: dict, name: str = "one.jsonl", cwd: str = "/w") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    header = {"type": "session", "version": 3, "id": session_id, "timestamp": "2026-01-02T03:04:05.000Z", "cwd": cwd}
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *lines)))
    return path


def user(entry_id: str, parent: str | None, text: str) -> dict:
    return {
        "type": "message",
        "id": entry_id,
        "parentId": parent,
        "timestamp": "2026-01-02T03:04:06.000Z",
        "message": {"role": "user", "content": text, "timestamp": 1767323046000},
    }


LIST_FIELDS = {
    "agent", "path", "id", "cwd", "name", "created", "modified", "message_count", "first_message", "parent_session",
    "parent_path", "bytes", "hidden", "archived", "entry_count", "branch_count", "label_count", "tokens", "cost",
    "model", "problem",
}  # fmt: skip


def test_list_prints_every_field_of_the_contract_newest_first(ask):
    status, rows, _ = ask("list", "--json")
    assert status == 0
    assert {row["agent"] for row in rows} == {"pi", "omp", "atomic", "indusagi", "claude", "codex"}
    assert all(set(row) >= LIST_FIELDS for row in rows)
    times = [row["modified"] for row in rows]
    assert times == sorted(times, reverse=True)
    assert all(len(time) == 24 and time.endswith("Z") for time in times)


def test_list_narrows_by_directory_name_and_number(ask):
    _, everything, _ = ask("list", "--json")
    cwd = everything[0]["cwd"]
    _, here, _ = ask("list", "--json", "--cwd", cwd)
    assert [row["cwd"] for row in here] == [cwd] * sum(row["cwd"] == cwd for row in everything)
    _, named, _ = ask("list", "--json", "--named")
    assert named
    assert all(row["name"] for row in named)
    _, few, _ = ask("list", "--json", "--limit", "3")
    assert few == everything[:3]


def test_an_agent_given_with_a_root_filters_and_says_only_whose_unmarked_files_are(ask, tmp_path):
    write_session(tmp_path / "s", "a", user("m1", None, "hi"))
    _, guessed, _ = ask("list", "--json", "--root", str(tmp_path / "s"), roots=False)
    _, told, _ = ask("list", "--json", "--root", str(tmp_path / "s"), "--agent", "atomic", roots=False)
    assert [row["agent"] for row in guessed + told] == ["pi", "atomic"]


def test_a_session_of_claude_code_is_shown_with_the_calls_of_its_tools_and_without_a_version(ask):
    _, rows, _ = ask("list", "--json", "--agent", "claude")
    _, printed, _ = ask("tree", rows[0]["path"], "--json")
    assert "[Bash: npm test -- sync]" in str(printed)
    _, shown, _ = ask("show", rows[0]["path"], "--json")
    assert shown["version"] is None, "its files have no version of a format"


@pytest.mark.parametrize("agents", [("pi",), ("omp",), ("atomic",), ("indusagi",), ("pi", "omp")])
def test_an_agent_leaves_sessions_out_and_never_makes_them_its_own(ask, agents):
    flags = [word for agent in agents for word in ("--agent", agent)]
    _, everything, _ = ask("list", "--hidden", "--json")
    _, kept, _ = ask("list", "--hidden", "--json", *flags)
    assert kept == [row for row in everything if row["agent"] in agents]
    left_out = next(row for row in everything if row["agent"] not in agents and not row["problem"])
    for reference in (left_out["id"], left_out["path"]):
        status, _, error = ask("rename", reference, "name", *flags, parse=False)
        assert status == 1
        assert f"is a session of {left_out['agent']}, which the option --agent" in error


def test_in_a_backup_of_several_agents_each_file_is_read_and_renamed_as_its_own(ask, tmp_path):
    for number in range(4):
        mode = {"type": "mode_change", "id": "m2", "parentId": "m1", "mode": "plan"}
        write_session(tmp_path / "mix", f"o{number}", user("m1", None, "hi"), mode, name=f"{number}.jsonl")
    pi = write_session(tmp_path / "mix", "pi", user("m1", None, "hi"), name="pi.jsonl")
    before = pi.read_bytes()
    _, rows, _ = ask("list", "--json", "--root", str(tmp_path / "mix"), roots=False)
    assert sorted(row["agent"] for row in rows) == ["omp"] * 4 + ["pi"]
    status, _, error = ask("rename", "pi", "x", "--root", str(tmp_path / "mix"), "--agent", "omp", roots=False)
    assert (status, pi.read_bytes()) == (1, before)
    assert "could not read it" in error
    assert ask("rename", "pi", "x", "--root", str(tmp_path / "mix"), roots=False, parse=False)[0] == 0
    assert pi.read_bytes().startswith(before)


def test_without_a_root_the_places_of_the_named_agents_are_looked_at(capfdbinary, own_home):
    for agent in ("pi", "atomic"):
        write_session(own_home / f".{agent}/agent/sessions/--w--", agent, user("m1", None, "hi"))
    assert main(["list", "--json", "--agent", "atomic"]) == 0
    assert [row["id"] for row in json.loads(capfdbinary.readouterr().out)] == ["atomic"]
    assert main(["list", "--json"]) == 0
    assert {row["id"] for row in json.loads(capfdbinary.readouterr().out)} == {"pi", "atomic"}


def test_hidden_sessions_come_only_when_asked_and_say_whose_they_are(ask):
    _, shown, _ = ask("list", "--json")
    _, all_rows, _ = ask("list", "--json", "--hidden")
    assert not any(row["hidden"] for row in shown)
    hidden = [row for row in all_rows if row["hidden"]]
    assert hidden
    nested = [row for row in hidden if row["agent"] == "omp"]
    assert all(os.path.exists(row["parent_path"]) for row in nested)


def test_a_query_finds_what_was_said_in_any_message(ask, tmp_path):
    write_session(tmp_path / "s", "a", user("m1", None, "start"), user("m2", "m1", "the quokka sleeps"))
    write_session(tmp_path / "s", "b", user("m1", None, "nothing of the kind"), name="two.jsonl")
    status, rows, _ = ask("list", "quokka", "--json", "--root", str(tmp_path / "s"), roots=False)
    assert status == 0
    assert [row["id"] for row in rows] == ["a"]


def test_a_pattern_that_is_none_is_an_expected_failure_with_one_sentence(ask):
    status, out, err = ask("list", "re:(", parse=False)
    assert (status, out) == (1, b"")
    assert err.startswith("sessionbrowse: The pattern is not valid")
    assert "Traceback" not in err


@pytest.mark.parametrize("command", ["list", "search"])
def test_a_pattern_that_never_ends_is_stopped_with_a_sentence(ask, tmp_path, monkeypatch, command):
    monkeypatch.setattr("sessionbrowse.services.background.pattern_worker.PatternWorker.__init__.__defaults__", (0.5,))
    write_session(tmp_path / "s" / "--w--", "s1", user("a1", None, "a" * 60))
    status, out, err = ask(command, "re:(a+)+x", "--root", str(tmp_path / "s"), roots=False)
    assert (status, out) == (1, b"")
    assert "The pattern took too long and was stopped" in err


def test_projects_tell_whether_their_directory_is_still_there(ask, store):
    status, rows, _ = ask("projects", "--json")
    assert status == 0
    assert all(set(row) == {"cwd", "machine", "agents", "sessions", "named", "modified", "exists"} for row in rows)
    assert {row["exists"] for row in rows if row["cwd"]} == {True, False}
    for row in rows:
        if row["cwd"]:
            assert row["exists"] == os.path.isdir(row["cwd"])


def test_show_names_entries_tree_labels_and_problems(ask):
    _, rows, _ = ask("list", "--json", "--agent", "pi")
    labelled = next(row for row in rows if row["label_count"])
    status, shown, _ = ask("show", labelled["id"], "--json")
    assert status == 0
    assert len(shown["labels"]) == labelled["label_count"]
    assert set(shown["labels"]) <= set(shown["entry_ids"])
    assert [node["id"] for node in shown["tree"] if node["depth"] == 0] == shown["root_ids"]
    assert sorted(map(str, (node["id"] for node in shown["tree"]))) == sorted(map(str, shown["entry_ids"]))
    assert shown["branch"][-1] == shown["leaf_id"]
    assert shown["header"]["id"] == labelled["id"]


def test_tree_and_context_answer_in_the_shapes_of_the_contract(ask):
    _, rows, _ = ask("list", "--json", "--agent", "pi")
    branched = next(row for row in rows if row["branch_count"] > 1)
    _, tree, _ = ask("tree", branched["path"], "--json", "--filter", "user-only")
    assert tree["filter"] == "user-only"
    assert tree["rows"]
    assert all(set(row) >= {"id", "depth", "text", "label", "active", "leaf", "type"} for row in tree["rows"])
    assert all(row["text"].startswith("user: ") for row in tree["rows"])
    _, context, _ = ask("context", branched["path"], "--json")
    assert {"at", "model", "thinking_level", "messages", "left_out", "tokens"} <= set(context)
    assert sum(context["parts"].values()) == context["tokens"]
    assert list(context["parts"].values()) == sorted(context["parts"].values(), reverse=True)
    sizes = [item["tokens"] for item in context["largest"]]
    assert sizes
    assert sizes == sorted(sizes, reverse=True)
    sent = {message["entry_id"] for message in context["messages"]}
    assert all(item["entry_id"] in sent and item["part"] in context["parts"] for item in context["largest"])
    first = tree["rows"][0]["id"]
    _, early, _ = ask("context", branched["path"], "--at", first, "--json")
    assert early["at"] == first
    assert len(early["messages"]) < len(context["messages"])


@pytest.mark.parametrize("command", ["show", "tree", "context"])
def test_a_file_without_a_line_of_json_is_shown_as_it_is_but_as_a_failure(ask, tmp_path, command):
    path = tmp_path / "passwd.jsonl"
    path.write_text("root:x:0:0:root:/root:/bin/bash\n")
    status, _, said = ask(command, str(path), parse=False, roots=False)
    assert status == 1
    assert "No line of this file is JSON, so it is no session." in said
    path.write_text('{"type":"message","id":"a"}\n')
    assert ask(command, str(path), parse=False, roots=False)[0] == 0, "a session without header"
    path.write_text("")
    assert ask(command, str(path), parse=False, roots=False)[0] == 0, "a session that has yet to begin"


def test_a_context_with_lines_that_the_program_does_not_read_says_so(ask, tmp_path):
    path = write_session(tmp_path, "s", user("a", None, "one"))
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r"))
    status, context, said = ask("context", str(path), "--json", roots=False)
    assert (status, len(context["messages"])) == (0, 1)
    assert "pi does not read lines that end in carriage returns: the model would not receive them." in said


def test_labels_list_every_checkpoint_with_its_branch_state(ask):
    status, rows, _ = ask("labels", "--json")
    assert status == 0
    keys = {"path", "id", "machine", "agent", "cwd", "session", "entry_id", "label", "time", "state", "preview"}
    assert rows
    assert all(set(row) == keys for row in rows)
    assert {row["state"] for row in rows} <= {"active", "abandoned", "compacted"}


def test_an_entry_can_be_named_by_its_label(ask):
    _, rows, _ = ask("labels", "--json")
    row = rows[0]
    _, context, _ = ask("context", row["path"], "--at", row["label"], "--json")
    assert context["at"] == row["entry_id"]


def test_resume_print_names_the_file_by_its_absolute_path(ask):
    _, rows, _ = ask("list", "--json", "--agent", "pi")
    row = next(row for row in rows if row["problem"] is None and os.path.isdir(row["cwd"]))
    status, command, _ = ask("resume", row["id"], "--print", "--json")
    assert status == 0
    assert command["argv"] == ["pi", "--session", row["path"]]
    assert command["cwd"] == row["cwd"]
    _, line, _ = ask("resume", row["id"], "--print", parse=False)
    assert line.decode().startswith("cd ")


def test_resume_without_the_program_says_what_can_be_done(ask, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    _, rows, _ = ask("list", "--json", "--agent", "pi")
    row = next(row for row in rows if row["problem"] is None and os.path.isdir(row["cwd"]))
    status, out, err = ask("resume", row["id"], parse=False)
    assert (status, out) == (1, b"")
    assert err.count("\n") == 1
    assert "pi" in err


def test_a_reference_that_fits_several_lists_them(ask, tmp_path):
    write_session(tmp_path / "s", "same-1", name="one.jsonl")
    write_session(tmp_path / "s", "same-2", name="two.jsonl")
    status, out, err = ask("show", "same", "--root", str(tmp_path / "s"), parse=False, roots=False)
    assert (status, out) == (1, b"")
    assert "one.jsonl" in err
    assert "two.jsonl" in err


@pytest.mark.parametrize("reference", ["no-such-id", "/no/such/file.jsonl", ""])
def test_a_reference_that_fits_nothing_is_one_sentence(ask, reference):
    status, out, err = ask("show", reference, parse=False)
    assert (status, out) == (1, b"")
    assert err.startswith("sessionbrowse: ")
    assert err.count("\n") == 1


def test_an_entry_that_is_not_there_is_one_sentence(ask):
    _, rows, _ = ask("list", "--json", "--agent", "pi")
    status, _, err = ask("context", rows[0]["path"], "--at", "zzzz", parse=False)
    assert status == 1
    assert "No entry or label 'zzzz'" in err


@pytest.mark.parametrize("argv", [["nonsense"], ["show"], ["list", "--sort", "x"], ["list", "--agent", "gemini"]])
def test_wrong_usage_ends_with_two(argv, capfd):
    assert main(argv) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert "usage:" in err


@pytest.mark.parametrize(
    "argv", [["list", "--x\x1b]0;evil\x07"], ["tree", "a", "b\x1b[2J\u202e"], ["x\x9b2J\n\x1b[2J"],
             ["list", "--sort", "\x1b[2J"], ["list", "--limit", "\x1b[2J"], ["diff", "a", "b", "c", "\udcff\x1b[2J"]]
)  # fmt: skip
def test_wrong_usage_prints_no_control_character(argv, capfd):
    assert main(argv) == 2
    said = capfd.readouterr().err
    assert said.splitlines()[-1].startswith("sessionbrowse: ")
    assert not any(raw in said for raw in ("\x1b", "\x07", "\x9b", "\u202e"))


def test_not_even_a_traceback_prints_a_control_character(capfd, monkeypatch):
    def fail(_: object) -> int:
        raise RuntimeError("a session's \x1b[2J text")

    monkeypatch.setattr("sessionbrowse.cli._run_of", lambda command: fail)
    monkeypatch.setattr("sys.argv", ["sessionbrowse", "list"])
    assert main() == 1
    said = capfd.readouterr().err
    assert said.endswith("RuntimeError: a session's  text\n")


def test_a_root_that_is_not_there_is_an_expected_failure(capfd):
    assert main(["list", "--root", "/no/such/root"]) == 1
    assert "does not exist" in capfd.readouterr().err


def test_json_writes_control_characters_as_escapes_and_text_drops_them(ask, tmp_path):
    evil = "a\x1b]52;c;AAAA\x07b\u202ec\u2028d\x9be"
    path = write_session(tmp_path / "s", "evil", user("m1", None, evil))
    _, _, _ = ask("show", str(path), parse=False, roots=False)
    status = main(["list", "--json", "--root", str(tmp_path / "s")])
    assert status == 0
    _, tree, _ = ask("tree", str(path), parse=False, roots=False)
    for byte in (b"\x1b", b"\x07", "\u202e".encode(), "\u2028".encode(), "\x9b".encode()):
        assert byte not in tree
    _, raw, _ = ask("tree", str(path), "--json", parse=False, roots=False)
    assert b"\\u001b" in raw
    assert b"\\u202e" in raw
    assert b"\x1b" not in raw
    assert json.loads(raw)["rows"][0]["text"] == "user: " + evil


def test_importing_the_command_line_for_the_version_loads_no_interface_and_no_reader():
    code = (
        "import sys; from sessionbrowse.cli import main; main(['--version']);"
        "print([m for m in sys.modules if m.startswith(('textual', 'rich', 'msgspec'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


def test_listing_loads_no_interface(store):
    code = (
        "import sys; from sessionbrowse.cli import main; main(['list','--json','--root',sys.argv[1]]);"
        "print([m for m in sys.modules if m.startswith(('textual', 'rich'))], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(store)], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = [name for name in done.stderr.splitlines()[-1].strip("[]").split(", ") if name and "cell" not in name]
    assert not [name for name in loaded if "textual" in name]


def test_a_reader_that_goes_away_is_no_error(store):
    command = f"{sys.executable} -m sessionbrowse list --json --root '{store}' | head -c 1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr == ""


def test_without_a_terminal_the_interface_says_so(store):
    done = subprocess.run(
        [sys.executable, "-m", "sessionbrowse", "--root", str(store)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "needs a terminal" in done.stderr


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("list --root '{store}' >&-", 1, "sessionbrowse: Standard output is closed, so nothing can be printed."),
        (
            "rename x name --root '{store}' >&-",
            1,
            "sessionbrowse: Standard output is closed, so nothing can be printed",
        ),
        ("--root '{store}' <&-", 1, "sessionbrowse: The browser needs a terminal"),
        ("resume x --root '{store}' <&-", 1, "sessionbrowse: No session matches 'x'"),
        ("list --root '{store}' 2>&-", 0, ""),
        pytest.param(
            "list --root '{store}' >/dev/full",
            1,
            "sessionbrowse: Standard output cannot be used (No space left on device).",
            marks=pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here"),
        ),
        ("search --limit 99999999999999999999 nothingsuch --root '{store}'", 0, "sessionbrowse: nothing found"),
    ],
)
def test_what_cannot_be_written_or_counted_is_met_with_a_sentence_at_most(words: str, status: int, said: str, store):
    command = f"{sys.executable} -m sessionbrowse {words.format(store=store)}"
    environ = {**os.environ, "PYTHONUNBUFFERED": ""}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=environ, timeout=60)
    assert (done.returncode, done.stderr[: len(said)], done.stderr.count("\n")) == (status, said, 1 if said else 0)


def test_what_the_system_refuses_is_not_laid_to_the_output_and_loses_none_of_it(ask, monkeypatch):
    def run(_: argparse.Namespace) -> int:
        print("a row")
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("sessionbrowse.cli._run_of", lambda _: run)
    assert ask("list", parse=False) == (1, b"a row\n", "sessionbrowse: Input/output error.\n")


EVIL = "\x1b]52;c;AAAA\x07\x9b2J\u202e\ud800\tx\ny"


def evil_store(folder: Path) -> Path:
    """One session whose header, ids, label and name all attack the terminal."""
    header = {
        "type": "session",
        "version": 3,
        "id": f"id{EVIL}",
        "timestamp": "2026-01-02T03:04:05.000Z",
        "cwd": f"/w{EVIL}",
        "parentSession": f"/p\x00{EVIL}",
    }
    at = "2026-01-02T03:04:07.000Z"
    lines: list[dict] = [
        header,
        user(f"m{EVIL}", None, f"said {EVIL}"),
        {"type": "label", "id": f"l{EVIL}", "parentId": f"m{EVIL}", "targetId": f"m{EVIL}", "label": f"here{EVIL}"},
        {"type": "session_info", "id": "n", "parentId": f"l{EVIL}", "name": f"name{EVIL}"},
    ]
    folder.mkdir(parents=True)
    path = folder / "evil.jsonl"
    path.write_text("".join(json.dumps({"timestamp": at, **line}) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    "command", ["list", "list said", "projects", "labels", "search said", "show REF", "tree REF", "context REF"],
)  # fmt: skip
def test_no_command_prints_a_control_character_of_a_session(capfdbinary, tmp_path, command):
    path = evil_store(tmp_path / "s" / "--w--")
    words = [str(path) if word == "REF" else word for word in command.split()]
    assert main([*words, "--root", str(tmp_path / "s")]) == 0
    out, err = capfdbinary.readouterr()
    assert b"said" in out or b"name" in out or b"here" in out or b"pi" in out or b"/w" in out
    for raw in ("\x1b", "\x07", "\x9b", "\u202e", "\x00", "\r"):
        assert raw.encode() not in out + err
    if command.split()[0] in ("list", "projects", "labels", "search"):
        # A search prints a head for the session, and a line for the hit.
        assert out.count(b"\n") == (2 if command == "search said" else 1)


def test_the_printed_command_leads_a_shell_to_a_directory_with_odd_characters(capfd, tmp_path):
    odd = tmp_path / "a\x1b[31m'b\nc"
    odd.mkdir()
    path = write_session(tmp_path / "s", "odd", user("m", None, "hi"), cwd=str(odd))
    assert main(["resume", str(path), "--print"]) == 0
    line = capfd.readouterr().out
    script = line.split(" && ")[0] + " && pwd"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == f"{odd}\n"


@pytest.mark.parametrize("named", ["132", "0", "wide", "-3", None])
def test_help_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch, named: str | None) -> None:
    if named is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", named)
    assert columns() == shutil.get_terminal_size().columns
    assert Help("sessionbrowse")._width == argparse.HelpFormatter("sessionbrowse")._width
