"""Texts of rows, as pi 1.5.2, omp 18.2.3 and the forks of older versions of pi write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree.row_text import row_text
from sessionbrowse.model.tree.tool_call_text import Call, other_call_text
from sessionbrowse.store.read.session_file import open_session
from tests.support.program_search import search_text, search_texts
from tests.support.tree_support import answer, call, entry, label, message, result, session_of, user

HOME = "/home/dev"


def text_of(session: Session, entry_id: str) -> str:
    return row_text(session, session.index_by_id[entry_id], HOME)


def shown(tmp_path: Path, one: dict[str, Any], agent: str = "pi") -> str:
    """The row of one entry that stands alone in a session."""
    return text_of(session_of(tmp_path, one, agent=agent), one["id"])


def called(tmp_path: Path, name: Any, arguments: Any, agent: str = "pi") -> str:
    """The row of a tool's result, by the call it answers."""
    return text_of(
        session_of(tmp_path, answer("a", None, "", call("c", name, arguments)), result("r", "a", "c"), agent=agent), "r"
    )


MESSAGES: list[tuple[dict[str, Any], str]] = [
    (user("e", None, "Hello\n\tthere  "), "user: Hello  there"),
    (user("e", None, [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]), "user: ab"),
    (user("e", None, "x" * 300), "user: " + "x" * 200),
    (user("e", None, "x" * 199 + "😀"), "user: " + "x" * 199 + "\ud83d"),
    (user("e", None, " " * 200 + "late"), "user:"),
    (user("e", None, [{"type": "text"}]), "user: undefined"),
    (user("e", None, None), "user:"),
    (answer("e", None, "Done."), "assistant: Done."),
    (answer("e", None, stopReason="aborted", errorMessage="Request was aborted"), "assistant: (aborted)"),
    (answer("e", None, stopReason="error", errorMessage="429\n" + "y" * 100), "assistant: 429 " + "y" * 76),
    (answer("e", None, stopReason="error"), "assistant: (no content)"),
    (answer("e", None, "said", stopReason="error", errorMessage="boom"), "assistant: said"),
    (message("bashExecution", "e", None, command=" git\tstatus\n"), "[bash]: git status"),
    (message("system", "e", None, "You are"), "[system]"),
    (message("custom", "e", None, "x"), "[custom]"),
    (entry("message", "e", None), "[message]"),
    (entry("message", "e", None, message={"content": "x"}), "[undefined]"),
    (message("toolResult", "e", None, toolCallId="gone", toolName="read"), "[read]"),
    (message("toolResult", "e", None, toolCallId="gone"), "[tool]"),
]


@pytest.mark.parametrize(("one", "expected"), MESSAGES)
def test_a_message_shows_its_role_and_the_beginning_of_its_text(tmp_path: Path, one: dict[str, Any], expected: str):
    assert shown(tmp_path, one).rstrip(" ") == expected


ENTRIES: list[tuple[dict[str, Any], str]] = [
    (entry("custom_message", "e", None, customType="note", content="a\nb" + "c" * 300), "[note]: a b" + "c" * 300),
    (
        entry(
            "custom_message", "e", None, customType="note", content=[{"type": "text", "text": "x"}, {"type": "text"}]
        ),
        "[note]: x",
    ),
    (entry("custom_message", "e", None), "[undefined]: "),
    (entry("compaction", "e", None, tokensBefore=81499), "[compaction: 81k tokens]"),
    (entry("compaction", "e", None, tokensBefore=2500), "[compaction: 3k tokens]"),
    (entry("compaction", "e", None), "[compaction: NaNk tokens]"),
    (entry("compaction", "e", None, tokensBefore=None), "[compaction: 0k tokens]"),
    (entry("branch_summary", "e", None, summary="Tried\nJWT "), "[branch summary]: Tried JWT"),
    (entry("model_change", "e", None, provider="p", modelId="opus"), "[model: opus]"),
    (entry("model_change", "e", None, model="p/opus"), "[model: undefined]"),
    (entry("thinking_level_change", "e", None, thinkingLevel="high"), "[thinking: high]"),
    (entry("thinking_level_change", "e", None, thinkingLevel=None), "[thinking: null]"),
    (entry("custom", "e", None, customType="pi.state", data={}), "[custom: pi.state]"),
    (entry("context_edit", "e", None, targetId="a1", replacement=None), "[context omit: a1]"),
    (entry("context_edit", "e", None, targetId="a1", replacement={"content": "x"}), "[context replace: a1]"),
    (entry("label", "e", None, targetId="a1", label="here"), "[label: here]"),
    (entry("label", "e", None, targetId="a1", label=""), "[label: ]"),
    (entry("label", "e", None, targetId="a1"), "[label: (cleared)]"),
    (entry("session_info", "e", None, name=" Name "), "[title:  Name ]"),
    (entry("session_info", "e", None, name=""), "[title: empty]"),
    (entry("usage", "e", None), ""),
    (entry("never_seen", "e", None, text="x"), ""),
]


@pytest.mark.parametrize(("one", "expected"), ENTRIES)
def test_every_other_entry_shows_what_it_is_about(tmp_path: Path, one: dict[str, Any], expected: str):
    assert shown(tmp_path, one) == expected


CALLS: list[tuple[str, Any, str]] = [
    ("read", {"path": "src/a.py"}, "[read: src/a.py]"),
    ("read", {"file_path": "/home/dev/a.py", "offset": 5, "limit": 10}, "[read: ~/a.py:5-14]"),
    ("read", {"path": "/home/dev", "offset": 5}, "[read: ~:5]"),
    ("read", {"path": "/home/developer/a", "limit": 3}, "[read: /home/developer/a:1-3]"),
    ("read", {"path": "/home/dev/x/../y//z", "offset": "7", "limit": "2"}, "[read: ~/y/z:7-8]"),
    ("read", {"path": "a", "offset": None, "limit": None}, "[read: a]"),
    ("read", {"path": "a", "offset": "start"}, "[read: a]"),
    ("read", {"path": "a", "offset": 1, "limit": 0}, "[read: a:1]"),
    ("read", {}, "[read: ]"),
    ("write", {"path": "/home/dev/new.py", "content": "x"}, "[write: ~/new.py]"),
    ("edit", {"path": "a b.py"}, "[edit: a b.py]"),
    ("edit", {"input": "[a.py#1a2b]\nREM\n[b.py#1a2b]\nPUT 1.=1:\n+x"}, "[edit: a.py, b.py]"),
    ("bash", {"command": "make\n\ttest "}, "[bash: make  test]"),
    ("bash", {"command": "x" * 50}, "[bash: " + "x" * 50 + "]"),
    ("bash", {"command": "x" * 51}, "[bash: " + "x" * 50 + "...]"),
    ("bash", {"command": "ls" + " " * 60}, "[bash: ls...]"),
    ("bash", {}, "[bash: ]"),
    ("grep", {"pattern": "TODO", "path": "src"}, "[grep: /TODO/ in src]"),
    ("grep", {}, "[grep: // in .]"),
    ("find", {"pattern": "*.py"}, "[find: *.py in .]"),
    ("ls", {"path": "/home/dev/src"}, "[ls: ~/src]"),
    ("ls", {}, "[ls: .]"),
    ("todo", {}, "[todo: {}]"),
    ("todo", {"b": 1, "2": [True, None], "1": 'q"\n'}, r'[todo: {"1":"q\"\n","2":[true,null],"b":1}]'),
    ("todo", {"text": "x" * 50}, '[todo: {"text":"' + "x" * 31 + "...]"),
    ("todo", {"n": 1.0, "m": 1e-7, "k": 1e21}, '[todo: {"n":1,"m":1e-7,"k":1e+21}]'),
    ("glob", {"path": "src"}, '[glob: {"path":"src"}]'),
    ("todo", "text", '[todo: "text"]'),
]


OTHER_CALLS = [
    ("Bash", {"description": "Run the tests", "command": "make\ttest"}, "[Bash: make test]"),
    ("Bash", {"command": "x" * 51}, "[Bash: " + "x" * 50 + "...]"),
    ("Read", {"limit": 5, "file_path": "/home/dev/src/" + "x" * 51}, "[Read: ~/src/" + "x" * 51 + "]"),
    ("Grep", {"path": "src", "pattern": "TODO"}, "[Grep: TODO]"),
    ("Glob", {"path": "", "query": "\x1b[2J"}, "[Glob: \x1b[2J]"),
    ("shell", {"command": ["bash", "-lc", "ls -l"], "workdir": "/p"}, "[shell: ls -l]"),
    ("shell", {"command": []}, '[shell: {"command":[]}]'),
    ("exec_command", {"cmd": "ls"}, "[exec_command: ls]"),
    ("TodoWrite", {"todos": []}, '[TodoWrite: {"todos":[]}]'),
    ("apply_patch", "text", '[apply_patch: "text"]'),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), OTHER_CALLS)
def test_a_call_of_claude_code_or_codex_shows_its_most_telling_argument(name: str, arguments: Any, expected: str):
    assert other_call_text(Call(name, arguments), HOME) == expected


@pytest.mark.parametrize(("name", "arguments", "expected"), CALLS)
def test_a_tool_result_shows_the_call_it_answers(tmp_path: Path, name: str, arguments: Any, expected: str):
    assert called(tmp_path, name, arguments) == expected


OMP_CALLS: list[tuple[str, Any, str]] = [
    ("read", {"path": "/home/dev/a.py", "offset": 1, "limit": 40}, "[read: ~/a.py:1-40]"),
    ("read", {"path": "/home/dev/x/../y"}, "[read: ~/x/../y]"),
    ("read", {"path": "/home/developer/a"}, "[read: /home/developer/a]"),
    ("grep", {"pattern": "p", "paths": ["a", "b"]}, "[grep: /p/ in a, b]"),
    ("grep", {"pattern": "p", "paths": '["a","b"]'}, "[grep: /p/ in a, b]"),
    ("grep", {"pattern": "p", "path": "/home/dev/q"}, "[grep: /p/ in ~/q]"),
    ("grep", {"pattern": "p", "paths": []}, "[grep: /p/ in .]"),
    ("glob", {"path": "src/**"}, "[glob: src/**]"),
    ("glob", {"paths": ["a", "b"]}, "[glob: a, b]"),
    ("glob", {}, "[glob: .]"),
    ("find", {"pattern": "*.py"}, '[find: {"pattern":"*.py"}]'),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), OMP_CALLS)
def test_omp_has_other_tools(tmp_path: Path, name: str, arguments: Any, expected: str):
    assert called(tmp_path, name, arguments, "omp") == expected


@pytest.mark.parametrize("agent", ["atomic", "indusagi"])
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "/home/developer/a"}, "[read: ~eloper/a]"),
        ({"path": "/home/dev/x/../y"}, "[read: ~/x/../y]"),
        ({"path": "a", "offset": "5", "limit": 10}, "[read: a:5-509]"),
        ({"path": "a", "offset": 5, "limit": 10}, "[read: a:5-14]"),
        ({"path": "a", "offset": None}, "[read: a:1]"),
        ({"path": "a", "limit": 1}, "[read: a:1-1]"),
    ],
)
def test_forks_of_older_versions_shorten_and_count_as_those_did(
    tmp_path: Path, agent: str, arguments: Any, expected: str
):
    assert called(tmp_path, "read", arguments, agent) == expected


def test_atomic_has_no_grep(tmp_path: Path):
    assert called(tmp_path, "grep", {"pattern": "p"}, "atomic") == '[grep: {"pattern":"p"}]'
    assert called(tmp_path, "find", {"pattern": "p"}, "atomic") == "[find: p in .]"


OMP_ANSWERS: list[tuple[dict[str, Any], str]] = [
    ({}, "(no content)"),
    ({"stopReason": "error"}, "Error"),
    ({"stopReason": "error", "errorMessage": "429 " + "y" * 100}, "429 " + "y" * 76),
    ({"stopReason": "aborted"}, "Operation aborted"),
    ({"stopReason": "aborted", "errorMessage": "Request was aborted"}, "Operation aborted"),
    ({"stopReason": "aborted", "errorMessage": "Budget spent"}, "Budget spent"),
    ({"stopReason": "aborted", "errorMessage": "Interrupted by user"}, "(aborted)"),
    ({"stopReason": "aborted", "errorMessage": "__omp.silent_abort__"}, "(aborted)"),
    ({"stopReason": "aborted", "errorMessage": "why", "errorId": 0x0200_0000}, "(aborted)"),
    ({"stopReason": "aborted", "errorMessage": "why", "errorId": 0x0800_0000}, "Operation aborted"),
    ({"stopReason": "stop", "errorMessage": "odd"}, "odd"),
    ({"stopReason": "error", "errorMessage": "x", "retryRecovery": {"status": "superseded"}}, "(no content)"),
    ({"stopReason": "error", "retryRecovery": {"status": "recovered", "note": "tried\t again"}}, "tried again"),
    ({"stopReason": "error", "retryRecovery": {"status": "recovered", "note": ""}}, "retried"),
]


@pytest.mark.parametrize(("fields", "expected"), OMP_ANSWERS)
def test_omp_says_why_an_answer_is_empty(tmp_path: Path, fields: dict[str, Any], expected: str):
    assert shown(tmp_path, answer("e", None, **fields), "omp") == f"assistant: {expected}"


OMP_ENTRIES: list[tuple[dict[str, Any], str]] = [
    (message("developer", "e", None, "Be brief"), "developer: Be brief"),
    (message("pythonExecution", "e", None, code="1+1"), "[pythonExecution]"),
    (user("e", None, [{"type": "text"}, {"type": "text", "text": "x"}]), "user: x"),
    (entry("custom_message", "e", None, customType="k", content="<system-note>a\nb</system-NOTE>"), "[k]: a b"),
    (entry("custom_message", "e", None, customType="k", content="<system-note a='>'> x </system-note>"), "[k]: x"),
    (
        entry("custom_message", "e", None, customType="k", content="<system-a>x</system-a> y"),
        "[k]: <system-a>x</system-a> y",
    ),
    (
        entry("custom_message", "e", None, customType="k", content="<system-a><system-b>x</system-b></system-a>"),
        "[k]: <system-b>x</system-b>",
    ),
    (
        entry(
            "custom_message",
            "e",
            None,
            customType="advisor",
            content="x",
            details={
                "notes": [
                    {"note": "Mind\nthis.", "advisor": "sec", "severity": "blocker"},
                    {"note": "And that.", "advisor": "default", "severity": "blocker"},
                ]
            },
        ),
        "advisor (sec, blocker): Mind this. And that.",
    ),
    (entry("custom_message", "e", None, customType="advisor", content="x"), "advisor: "),
    (entry("model_change", "e", None, model="anthropic/opus"), "[model: anthropic/opus]"),
    (
        entry("model_usage", "e", None, purpose="\x1b[31mti\ttle\x1b[0m", role="smol", provider="p", model="m"),
        "[model usage: ti tle smol p/m]",
    ),
    (entry("model_usage", "e", None, purpose="title", provider="p", model="m"), "[model usage: title p/m]"),
    (entry("thinking_level_change", "e", None, thinkingLevel=None), "[thinking: off]"),
    (
        entry("service_tier_change", "e", None, serviceTier={"openai": "flex", "google": None}),
        "[service tier: openai:flex google:null]",
    ),
    (entry("service_tier_change", "e", None, serviceTier=None), "[service tier: (default)]"),
    (entry("title_change", "e", None, title="A\nname "), "[title: A name]"),
    (entry("mode_change", "e", None, mode="plan"), "[mode: plan]"),
    (entry("credential_pin", "e", None, provider="anthropic"), "[credential pin: anthropic]"),
    (entry("reset_boundary", "e", None), "[reset boundary]"),
    (entry("session_init", "e", None), "[session init]"),
    (entry("never_seen", "e", None), "[never seen]"),
]


@pytest.mark.parametrize(("one", "expected"), OMP_ENTRIES)
def test_omp_names_every_entry(tmp_path: Path, one: dict[str, Any], expected: str):
    assert shown(tmp_path, one, "omp") == expected


def test_of_calls_with_the_same_id_the_lowest_row_of_the_tree_counts(tmp_path: Path):
    session = session_of(
        tmp_path,
        user("u", None, "q"),
        answer("a1", "u", "", call("c", "ls", {"path": "first"})),
        result("r1", "a1", "c"),
        answer("a2", "u", "", call("c", "ls", {"path": "second"}), call("c", "ls", {"path": "third"})),
        result("r2", "a2", "c"),
    )
    assert text_of(session, "r1") == "[ls: first]"
    assert text_of(session, "r2") == "[ls: first]"


def test_within_an_answer_the_last_of_the_calls_with_the_same_id_counts(tmp_path: Path):
    calls = call("c", "ls", {"path": "second"}), call("c", "ls", {"path": "third"})
    session = session_of(tmp_path, answer("a", None, "", *calls), result("r", "a", "c"))
    assert text_of(session, "r") == "[ls: third]"


def test_messages_of_versions_1_and_2_show_their_new_role(tmp_path: Path):
    header = {"type": "session", "version": 2, "id": "s", "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/p"}
    session = session_of(tmp_path, message("hookMessage", "e", None, "x"), header=header)
    assert text_of(session, "e") == "[custom]"


def test_two_records_on_one_line_show_as_the_first_in_omp(tmp_path: Path):
    session = session_of(tmp_path, user("a", None, "one"), user("b", "a", "two"), agent="omp")
    path = Path(session.path)
    path.write_text(path.read_text().replace('"two", "timestamp": 1}}\n', '"two", "timestamp": 1}}{"type":"x"}\n'))
    assert text_of(open_session(path, "omp"), "b") == "user: two"


# ---- what a search looks at --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (user("e", None, "A" * 300), "user " + "A" * 200),
        (message("bashExecution", "e", None, command="make"), "bashExecution make"),
        (result("e", None, "c", "output"), "toolResult output"),
        (entry("custom_message", "e", None, customType="k", content="z" * 300), "k " + "z" * 300),
        (
            entry("custom_message", "e", None, customType="k", content=[{"type": "text", "text": "z" * 300}]),
            "k " + "z" * 200,
        ),
        (entry("compaction", "e", None, summary="hidden"), "compaction"),
        (entry("branch_summary", "e", None, summary="S"), "branch summary S"),
        (entry("session_info", "e", None, name="N"), "title N"),
        (entry("model_change", "e", None, modelId="m", provider="p"), "model m"),
        (entry("thinking_level_change", "e", None, thinkingLevel="low"), "thinking low"),
        (entry("custom", "e", None, customType="t"), "custom t"),
        (entry("context_edit", "e", None, targetId="a", replacement=None), "context edit omit a"),
        (entry("label", "e", None, targetId="a", label="l"), "label l"),
        (entry("other", "e", None, text="x"), ""),
    ],
)
def test_the_search_looks_at_role_and_the_beginning_of_the_text(tmp_path: Path, one: dict[str, Any], expected: str):
    session = session_of(tmp_path, one)
    assert " ".join(search_text(session, 0).split()) == expected


def test_the_search_looks_at_labels_first(tmp_path: Path):
    session = session_of(tmp_path, user("a", None, "q"), label("l", "a", "a", "Mark"))
    assert search_text(session, 0) == "Mark user q"


def test_many_search_texts_are_read_in_file_order_and_are_the_same(tmp_path: Path):
    entries = [user(f"e{n}", f"e{n - 1}" if n else None, f"turn {n} " + "x" * n) for n in range(300)]
    session = session_of(tmp_path, *entries)
    wanted = [7, 3, 299, 0]
    assert dict(search_texts(session, wanted)) == {index: search_text(session, index) for index in wanted}
    assert [index for index, _ in search_texts(session, wanted)] == [0, 3, 7, 299]


def test_texts_are_read_from_the_file_as_it_is_now(tmp_path: Path):
    session = session_of(tmp_path, user("a", None, "before"))
    path = Path(session.path)
    path.write_text(path.read_text().replace("before", "behind"))
    assert row_text(session, 0) == "user: behind"
    path.write_text(path.read_text()[:150].ljust(400, "x"))
    assert row_text(session, 0) == "[message]"
