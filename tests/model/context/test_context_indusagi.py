"""indusagi's contexts: pi's older rule for its first files, the branch's messages for its transcripts."""

from __future__ import annotations

import json
from typing import Any

from sessionbrowse.model.context.build import ModelRef, build
from tests.support.context_sample import answer, bash, compaction, context, of_bytes, reasons, said, system, user


def test_edits_and_system_messages_of_newer_pi_have_no_effect():
    edit = {"type": "context_edit", "targetId": "e0", "replacement": None}
    stored = {"role": "system", "content": "now"}
    made = context("indusagi", user("q"), system("rules"), compaction("sum", "e0", systemMessage=stored), edit)
    assert said(made) == ["compactionSummary: sum", "user: q", "system: rules"]
    assert [message.sent for message in made.messages] == [True, True, False]
    assert reasons(made) == {"e3": "a context edit, which indusagi ignores"}


def test_compaction_keeps_and_cuts_as_in_pi():
    made = context("indusagi", user("a"), compaction("one", "e0"), user("b"), compaction("two", "e1"), answer("c"))
    assert said(made) == ["compactionSummary: two", "user: b", "assistant: c"]
    assert reasons(made) == {"e0": "before the compaction", "e1": "older compaction"}
    assert (made.model, made.thinking_level) == (ModelRef("p", "m"), "off")
    assert said(context("indusagi", user("a"), compaction("one", "gone"), user("b"))) == [
        "compactionSummary: one",
        "user: b",
    ]


def node(node_id: str, prev: str | None, role: str, message: Any) -> str:
    return json.dumps(
        {
            "schema": "indus/transcript@1",
            "kind": "entry",
            "id": node_id,
            "prev": prev,
            "role": role,
            "message": message,
            "at": "2026-05-01T10:00:00.000Z",
        }
    )


def test_a_transcript_gives_the_messages_of_its_branch():
    lines = [
        node("1", None, "user", user("q")["message"]),
        node("2", "1", "assistant", answer("a")["message"]),
        node("3", "1", "user", user("other")["message"]),
        node("4", "2", "note", bash("ls", excludeFromContext=True)["message"]),
        node("5", "4", "condense", {"role": "compactionSummary", "summary": "so far"}),
        node("6", "5", "tool", None),
    ]
    made = build(of_bytes("indusagi", "\n".join(lines).encode(), "/x/s_1.ndjson"))
    assert said(made) == ["user: q", "assistant: a", "bashExecution: ls", "compactionSummary: so far"]
    assert [message.sent for message in made.messages] == [True, True, False, True]
    assert reasons(made) == {"6": "the message is missing"}
    assert (made.model, made.thinking_level) == (ModelRef("p", "m"), None)
