"""Converting entries: each rule has a way back, and the loss list predicts what the model sees."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.format.lines import line_blocks
from sessionbrowse.format.title_slot import slot_line
from sessionbrowse.model.convert.carried import TargetAgent
from sessionbrowse.model.convert.conversion import Converted, converted, session_of
from sessionbrowse.model.convert.grown import growth
from sessionbrowse.model.fork import whole_lines
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.model.session.session import Session, build_session
from sessionbrowse.store.read.session_file import open_session
from tests.support.change_helpers import assistant, entry, header, line, user
from tests.support.odd_trees import BLOB, GONE, OddTree

Json = Any
OTHERS: dict[str, tuple[TargetAgent, ...]] = {
    "pi": ("omp", "atomic"),
    "omp": ("pi", "atomic"),
    "atomic": ("pi", "omp"),
}
PNG = "iVBORw0KGgo="


def read_image(reference: str) -> str | None:
    return PNG if reference == BLOB else None


def session(content: bytes, agent: str) -> Session:
    return build_session(
        line_blocks([content]), RULES[agent], "/shop.jsonl", lambda offset, size: content[offset : offset + size]
    )


def raws_of(content: bytes, agent: str) -> list[bytes]:
    return list(whole_lines(session(content, agent), lambda offset, size: content[offset : offset + size]))


def values(lines: Any) -> list[Json]:
    return [json.loads(raw) for raw in lines]


def content_of(*entries: Json, slot: bytes = b"") -> bytes:
    return slot + line(header()) + b"".join(map(line, entries))


def carry(content: bytes, agent: str, to: TargetAgent, **options: Any) -> tuple[Converted, list[Json]]:
    made = converted(session(content, agent), raws_of(content, agent), to, read_image=read_image, **options)
    return made, values(made.lines)


def there_and_back(content: bytes, agent: str, via: TargetAgent) -> None:
    made, _ = carry(content, agent, via)
    there = session_of(made.lines, via, made.title, made.title_source)
    own: TargetAgent = agent  # type: ignore[assignment]
    back = converted(there, made.lines, own, read_image=read_image)
    assert values(back.lines) == values(raws_of(content, agent))
    assert session_of(back.lines, own, back.title, back.title_source).name == session(content, agent).name


@pytest.mark.parametrize("via", ["first", "second"])
@pytest.mark.parametrize("agent", OTHERS)
def test_generated_sessions_come_back_equal(agent: str, via: str) -> None:
    for seed in range(15):
        there_and_back(OddTree(seed, agent, 40).content(), agent, OTHERS[agent][via == "second"])


ODD_KEYS = ["type", "id", "parentId", "targetId", "customType", "data", "details", "model", "role", "content"]
ODD_KEYS += ["usage", "images", "files", "name", "title"]


@pytest.mark.parametrize("agent", OTHERS)
def test_values_of_any_kind_come_back_equal(agent: str) -> None:
    odd: list[Json] = ["", 5, ["a"], {"a": [1]}, None]
    for seed, (key, value) in enumerate(product(ODD_KEYS, [*odd, "gone"])):
        tree = OddTree(seed, agent, 8)
        dice = random.Random(seed)
        one = dice.choice(tree.entries)
        holder = one["message"] if dice.random() < 0.5 and "message" in one else one
        holder[key] = value
        if value == "gone":
            del holder[key]
        via = OTHERS[agent][seed % 2]
        made, _ = carry(tree.content(), agent, via)
        assert growth(made.lines, made.lines, read_image).state == "same"
        if made.refusal is None:
            there_and_back(tree.content(), agent, via)


@pytest.mark.stress
@pytest.mark.parametrize("agent", OTHERS)
def test_very_many_generated_sessions_come_back_equal(agent: str) -> None:
    for seed in range(1_000, 1_500):
        for via in OTHERS[agent]:
            there_and_back(OddTree(seed, agent, 60).content(), agent, via)


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["pi", "atomic"])
def test_real_sessions_come_back_equal(corpus: Path, agent: str) -> None:
    for path in sorted((corpus / agent).rglob("*.jsonl")):
        content = path.read_bytes()
        if open_session(path, agent).refusal is None:
            for via in OTHERS[agent]:
                there_and_back(content, agent, via)


def usage(**more: Any) -> Json:
    numbers = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2}
    return {**numbers, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}, **more}


PI_TO_OMP: list[tuple[str, Json, Json]] = [
    (
        "a name",
        {"type": "session_info", "name": "Shop"},
        {"type": "title_change", "title": "Shop", "source": "user", "trigger": "pi.session_info"},
    ),
    (
        "a model whose id has slashes",
        {"type": "model_change", "provider": "p", "modelId": "a/b"},
        {"type": "model_change", "model": "p/a/b"},
    ),
    (
        "a compaction by an extension",
        {"type": "compaction", "summary": "s", "tokensBefore": 9, "fromHook": True},
        {"type": "compaction", "summary": "s", "tokensBefore": 9, "fromExtension": True},
    ),
    (
        "redacted thinking",
        {
            "type": "message",
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "[Reasoning redacted]", "thinkingSignature": "x", "redacted": True}
                ],
                "usage": usage(),
            },
        },
        {
            "type": "message",
            "message": {
                "role": "assistant",
                "content": [{"type": "redactedThinking", "data": "x"}],
                "usage": usage(),
            },
        },
    ),
    (
        "an unknown entry",
        {"type": "from_the_future", "what": [1]},
        {"type": "from_the_future", "what": [1]},
    ),
]


@pytest.mark.parametrize(("ours", "theirs"), [row[1:] for row in PI_TO_OMP], ids=[row[0] for row in PI_TO_OMP])
def test_an_entry_of_pi_becomes_the_one_of_omp(ours: Json, theirs: Json) -> None:
    base = {"id": "0000000a", "parentId": None, "timestamp": "2026-08-13T08:00:01.000Z"}
    _, made = carry(content_of({**base, **ours}), "pi", "omp")
    assert made == [{**base, **theirs}]
    there_and_back(content_of({**base, **ours}), "pi", "omp")


def message(**body: Any) -> Json:
    return entry("message", "0000000a", None, message=body)


IMAGE = {"type": "image", "data": BLOB, "mimeType": "image/png"}
SEEN_BY_THE_MODEL: list[tuple[str, Json, Json]] = [
    ("developer", message(role="developer", content="be brief"), "be brief"),
    (
        "python",
        message(role="pythonExecution", code="1/0", output="boom", exitCode=1, cancelled=False),
        "Ran Python:\n```python\n1/0\n```\nOutput:\n```\nboom\n```\n\nExecution failed with code 1",
    ),
    (
        "shell with an image",
        message(role="bashExecution", command="ls", output="", exitCode=0, cancelled=True, images=[IMAGE]),
        [{"type": "text", "text": "Ran `ls`\n(no output)\n\n(command cancelled)"}, {**IMAGE, "data": PNG}],
    ),
    (
        "files",
        message(role="fileMention", files=[{"path": "a", "content": "x"}, {"path": "b", "image": IMAGE}]),
        [
            {"type": "text", "text": '<file path="a">\nx\n</file>'},
            {"type": "text", "text": '<file path="b">\n</file>'},
            {**IMAGE, "data": PNG},
        ],
    ),
]


@pytest.mark.parametrize(("what", "ours", "seen"), SEEN_BY_THE_MODEL, ids=[row[0] for row in SEEN_BY_THE_MODEL])
def test_a_role_that_pi_lacks_becomes_a_message_with_what_omp_sent(what: str, ours: Json, seen: Json) -> None:
    made, entries = carry(content_of(ours), "omp", "pi")
    assert entries == [
        entry(
            "custom_message",
            "0000000a",
            None,
            customType="omp.role",
            content=seen,
            display=True,
            details=ours["message"],
        )
    ]
    assert [loss.context for loss in made.losses] == [True]


def test_what_omp_keeps_from_the_model_stays_from_the_model() -> None:
    hidden = message(role="pythonExecution", code="1", output="", excludeFromContext=True)
    _, (made,) = carry(content_of(hidden), "omp", "pi")
    assert (made["type"], made["customType"], made["data"]["_type"]) == ("custom", "omp.message", "message")


def test_stored_images_are_carried_whole_and_missing_ones_named() -> None:
    both = message(role="user", content=[IMAGE, {**IMAGE, "data": GONE}])
    made, (one,) = carry(content_of(both), "omp", "pi")
    text = {"type": "text", "text": f"[image not available: {GONE}]", "ompImage": {**IMAGE, "data": GONE}}
    assert one["message"]["content"] == [{**IMAGE, "data": PNG}, text]
    assert [(loss.kind, loss.count, loss.context) for loss in made.losses] == [("missing_image", 1, True)]
    _, (back,) = carry(content_of(one), "pi", "omp")
    assert back == both


@pytest.mark.parametrize("tool", ["read", 5])
def test_images_that_omp_moved_into_its_store_are_no_change_and_come_back(tool: Json) -> None:
    image = {**IMAGE, "data": PNG}
    body = {"role": "toolResult", "toolCallId": "c", "toolName": tool, "isError": False, "content": [image]}
    ours = entry("message", "0000000a", None, message={**body, "details": {"content": [image]}})
    made, _ = carry(content_of(ours), "pi", "omp")
    moved = [raw.replace(PNG.encode(), BLOB.encode()) for raw in made.lines]
    assert growth(made.lines, moved, read_image).state == "same"
    back = converted(session_of(moved, "omp"), moved, "pi", read_image=read_image)
    assert values(back.lines)[0]["message"]["content"] == [image]


def test_omps_name_is_a_last_line_in_pi_and_its_children_are_hung_higher_on_the_way_back() -> None:
    slot = slot_line("Shop", "auto", "2026-08-13T08:00:00.000Z")
    content = content_of(user("00000001", None, "hi"), assistant("00000002", "00000001", "yes"), slot=slot)
    made, entries = carry(content, "omp", "pi")
    name = entries[-1]
    assert (name["type"], name["name"], name["parentId"]) == ("session_info", "Shop", "00000002")
    assert session_of(made.lines, "pi").name == "Shop"
    went_on = content_of(*entries, user("00000003", name["id"], "more"))
    back, entries = carry(went_on, "pi", "omp")
    assert [(one["id"], one["parentId"]) for one in entries] == [
        ("00000001", None),
        ("00000002", "00000001"),
        ("00000003", "00000002"),
    ]
    assert (back.title, back.title_source) == ("Shop", "auto")


def test_an_answer_without_cost_is_made_whole_for_omp_and_comes_back_as_it_was() -> None:
    bare = assistant("00000002", "00000001", "yes")
    del bare["message"]["usage"]["cost"], bare["message"]["usage"]["output"]
    content = content_of(user("00000001", None, "hi"), bare)
    made, entries = carry(content, "pi", "omp")
    numbers = entries[1]["message"]["usage"]
    assert (numbers["output"], numbers["cost"]["total"], numbers["cost"]["cacheRead"]) == (0, 0, 0)
    assert ("made_whole", 1, False) in [(loss.kind, loss.count, loss.context) for loss in made.losses]
    there_and_back(content, "pi", "omp")


def test_a_compaction_is_a_boundary_of_atomic_and_the_kept_tail_is_in_the_loss_list() -> None:
    content = content_of(
        user("00000001", None, "old"),
        user("00000002", "00000001", "kept"),
        entry("compaction", "00000003", "00000002", summary="sum", firstKeptEntryId="00000002", tokensBefore=9),
        assistant("00000004", "00000003", "yes"),
    )
    made, entries = carry(content, "pi", "atomic")
    assert entries[2]["details"]["strategy"] == "verbatim-lines"
    assert [(loss.kind, loss.entries) for loss in made.losses if loss.context] == [
        ("kept_tail", ("00000003", "00000002"))
    ]
    there_and_back(content, "pi", "atomic")


LOSSES: list[tuple[str, str, TargetAgent, list[Json], str, tuple[str, ...]]] = [
    (
        "a context edit",
        "pi",
        "omp",
        [
            user("00000001", None, "secret"),
            entry("context_edit", "00000002", "00000001", targetId="00000001", replacement=None),
        ],
        "context_edit",
        ("00000001",),
    ),
    (
        "an aborted answer",
        "pi",
        "omp",
        [user("00000001", None, "hi"), assistant("00000002", "00000001", "no", stopReason="aborted")],
        "failed_answer",
        ("00000002",),
    ),
    (
        "a call without result",
        "pi",
        "omp",
        [user("00000001", None, "hi"), assistant("00000002", "00000001", "look", ["call_1"])],
        "unanswered_call",
        ("00000002",),
    ),
    (
        "a conversation that was cleared",
        "omp",
        "pi",
        [
            user("00000001", None, "old"),
            entry("reset_boundary", "00000002", "00000001"),
            user("00000003", "00000002", "new"),
        ],
        "reset",
        ("00000001",),
    ),
    (
        "an aborted answer on another branch",
        "pi",
        "omp",
        [
            user("00000001", None, "hi"),
            assistant("00000002", "00000001", "no", stopReason="error"),
            user("00000003", "00000001", "again"),
        ],
        "failed_answer",
        ("00000002",),
    ),
]


@pytest.mark.parametrize(("what", "agent", "to", "entries", "kind", "ids"), LOSSES, ids=[row[0] for row in LOSSES])
def test_what_the_model_sees_otherwise_is_in_the_loss_list(
    what: str, agent: str, to: TargetAgent, entries: list[Json], kind: str, ids: tuple[str, ...]
) -> None:
    made, _ = carry(content_of(*entries), agent, to)
    assert [(loss.kind, loss.entries) for loss in made.losses if loss.context] == [(kind, ids)]


def test_reasoning_is_dropped_where_it_is_not_all_that_was_said() -> None:
    both, only = assistant("00000002", "00000001", "yes"), assistant("00000003", "00000002", "x")
    thinking = {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}
    both["message"]["content"].insert(0, thinking)
    only["message"]["content"] = [thinking]
    content = content_of(user("00000001", None, "hi"), both, only)
    made, entries = carry(content, "pi", "omp", drop_signatures=True)
    assert entries[1]["message"]["content"] == [{"type": "text", "text": "yes"}]
    assert entries[2]["message"]["content"] == [thinking]
    assert [(loss.kind, loss.count) for loss in made.losses if loss.context] == [("reasoning", 1)]


@pytest.mark.parametrize("via", ["omp", "atomic"])
def test_dropped_reasoning_does_not_come_back_from_an_original(via: TargetAgent) -> None:
    one = assistant("00000002", "00000001", "yes")
    one["message"]["content"].insert(0, {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"})
    del one["message"]["usage"]
    there, _ = carry(content_of(user("00000001", None, "hi"), one), "pi", via)
    back, entries = carry(content_of(*values(there.lines)), via, "pi", drop_signatures=True)
    assert entries[1]["message"]["content"] == [{"type": "text", "text": "yes"}]
    assert "sig" not in back.lines[1].decode()


def test_a_growing_session_is_an_exact_beginning_of_itself() -> None:
    for seed in range(3):
        tree = OddTree(seed, "pi", 40)
        whole = content_of(*tree.entries)
        lines, _ = carry(whole, "pi", "omp")
        for cut in range(1, len(tree.entries)):
            made, _ = carry(content_of(*tree.entries[:cut]), "pi", "omp")
            grown = growth(lines.lines, made.lines, read_image)
            assert grown.state == "grown"
            assert [json.loads(raw)["id"] for raw in grown.lines] == tree.ids[cut:]
