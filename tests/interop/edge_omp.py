"""Small hand-made odd and damaged omp files: inputs only, what it makes of each is what the real omp answers.

gen.ts lets the real omp write healthy files; these are the shapes it does not write, in one file each.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

Json = dict[str, Any]
START = 1_767_323_040  # 2026-01-02T03:04:00Z


def write_edge_omp(folder: Path) -> None:
    """Write one file for each oddity; their times count up, so that listings have one order."""
    folder.mkdir(parents=True)
    for number, (name, content) in enumerate(_files().items()):
        file = folder / f"{name}.jsonl"
        file.write_bytes(content)
        os.utime(file, (START + 86_400 + number, START + 86_400 + number))


def _at(seconds: int) -> str:
    return f"2026-01-02T03:{4 + seconds // 60:02d}:{seconds % 60:02d}.000Z"


def _slot(title: Any = "Slot title", source: Any = "user", width: int = 256, **over: Any) -> str:
    value: Json = {"type": "title", "v": 1, "title": title}
    if source is not None:
        value["source"] = source
    value |= {"updatedAt": _at(0), "pad": ""} | over
    short = width - 1 - len(_line(value).encode())
    if isinstance(value.get("pad"), str):
        value["pad"] = " " * max(0, short)
    return _line(value)


def _header(**over: Any) -> Json:
    return {
        "type": "session",
        "version": 3,
        "id": "sid-1",
        "timestamp": _at(1),
        "cwd": "/home/demo/edge",
        **over,
    }


def _entry(kind: str, entry_id: str, parent: str | None, seconds: int, **fields: Any) -> Json:
    return {"type": kind, "id": entry_id, "parentId": parent, "timestamp": _at(seconds), **fields}


def _message(entry_id: str, parent: str | None, seconds: int, role: str, **fields: Any) -> Json:
    return _entry(
        "message",
        entry_id,
        parent,
        seconds,
        message={"role": role, **fields, "timestamp": (START + seconds) * 1000},
    )


def _user(entry_id: str, parent: str | None, content: Any = "question", seconds: int = 2, **fields: Any) -> Json:
    return _message(entry_id, parent, seconds, "user", content=content, **fields)


USAGE = {
    "input": 10,
    "output": 5,
    "cacheRead": 3,
    "cacheWrite": 2,
    "totalTokens": 20,
    "cost": {"input": 0.1, "output": 0.2, "cacheRead": 0.01, "cacheWrite": 0.02, "total": 0.33},
}


def _answer(
    entry_id: str, parent: str | None, text: str | list[Any] = "answer", seconds: int = 3, **fields: Any
) -> Json:
    content = [{"type": "text", "text": text}] if isinstance(text, str) else text
    body = {
        "api": "a",
        "provider": "p",
        "model": f"m-{entry_id}",
        "usage": USAGE,
        "stopReason": "stop",
    } | fields
    return _message(entry_id, parent, seconds, "assistant", content=content, **body)


def _call(call_id: str, name: str, **arguments: Any) -> Json:
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def _result(entry_id: str, parent: str | None, call_id: str, name: str, seconds: int = 4, **fields: Any) -> Json:
    content = [{"type": "text", "text": f"result of {call_id}"}]
    body = {"toolCallId": call_id, "toolName": name, "content": content, "isError": False} | fields
    return _message(entry_id, parent, seconds, "toolResult", **body)


def _line(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _file(*lines: Any, end: str = "\n", newline: str = "\n") -> bytes:
    return (newline.join(map(_line, lines)) + end).encode()


def _files() -> dict[str, bytes]:
    pair = [_user("a", None), _answer("b", "a")]
    others = _contexts() | _snapshots() | _stubs() | _settings() | _rows()
    return _slots(pair) | _headers(pair) | _bytes(pair) | _trees(pair) | others


def _slots(pair: list[Json]) -> dict[str, bytes]:
    titled = _header(title="Header title", titleSource="auto")
    return {
        "slot": _file(_slot(), _header(), *pair),
        "slot-beats-header": _file(_slot(), titled, *pair),
        "slot-empty-title": _file(_slot(""), titled, *pair),
        "slot-blank-title": _file(_slot("   "), titled, *pair),
        "slot-no-source": _file(_slot(source=None), titled, *pair),
        "slot-odd-source": _file(_slot(source="robot"), titled, *pair),
        "slot-narrow": _file(_slot(width=0), _header(), *pair),
        "slot-wide": _file(_slot(width=400), _header(), *pair),
        "slot-no-pad": _file(_slot(pad=None), _header(), *pair),
        "slot-title-number": _file(_slot(5), _header(), *pair),
        "slot-version-2": _file(_slot(v=2), _header(), *pair),
        "slot-twice": _file(_slot(), _slot("Second"), _header(), *pair),
        "slot-after-header": _file(_header(), _slot(), *pair),
        "slot-in-the-middle": _file(_slot(), _header(), pair[0], _slot("Third"), pair[1]),
        "slot-only": _file(_slot()),
        "slot-then-blank": _file(_slot(), "", _header(), *pair),
        "slot-then-garbage": _file(_slot(), "{garbage", _header(), *pair),
        "slot-after-garbage": _file("{garbage", _slot(), _header(), *pair),
        "slot-after-blank": _file("", _slot(), _header(), *pair),
        "slot-with-mark": b"\xef\xbb\xbf" + _file(_slot(), _header(), *pair),
        "slot-crlf": _file(_slot(), _header(), *pair, newline="\r\n"),
        "slot-odd-text": _file(_slot("a\tb\x1b[31m \u202e漢字 🙂"), _header(), *pair),
        "title-in-header": _file(titled, *pair),
        "title-in-header-blank": _file(_header(title="  "), *pair),
        "title-in-header-number": _file(_header(title=7), *pair),
        "title-change-is-no-name": _file(
            _header(), *pair, _entry("title_change", "t", "b", 4, title="Changed", source="user")
        ),
        "session-info-is-no-name": _file(_header(), *pair, _entry("session_info", "i", "b", 4, name="pi's name")),
    }


def _headers(pair: list[Json]) -> dict[str, bytes]:
    return {
        "header-only": _file(_header()),
        "header-no-id": _file({"type": "session", "version": 3, "timestamp": _at(1), "cwd": "/x"}, *pair),
        "header-number-id": _file(_header(id=5), *pair),
        "header-no-cwd": _file({"type": "session", "version": 3, "id": "s", "timestamp": _at(1)}, *pair),
        "header-number-cwd": _file(_header(cwd=5), *pair),
        "header-bad-time": _file(_header(timestamp="nope"), *pair),
        "header-version-9": _file(_header(version=9), *pair),
        "header-more-keys": _file(
            _header(
                additionalDirectories=["/x"],
                previousSessionFiles=["/y.jsonl"],
                providerPromptCacheKey="k",
                zzz=1,
            ),
            *pair,
        ),
        "header-parent-is-id": _file(_header(parentSession="019f0000-0000-7000-8000-000000000000"), *pair),
        "header-twice": _file(_header(), pair[0], _header(id="sid-2", cwd="/other"), pair[1]),
        "header-twice-parent": _file(_header(), pair[0], _header(id="sid-2"), _answer("b", "sid-2")),
        "header-late": _file(pair[0], _header(), pair[1]),
        "header-after-garbage": _file("garbage", _header(), *pair),
        "header-after-scalar": _file("5", _header(), *pair),
        "version-1": _file(
            {"type": "session", "id": "v1", "timestamp": _at(0), "cwd": "/home/demo/edge"},
            {
                "type": "message",
                "timestamp": _at(1),
                "message": {"role": "user", "content": "one", "timestamp": 1},
            },
            {
                "type": "message",
                "timestamp": _at(2),
                "message": {"role": "hookMessage", "customType": "h", "content": "two"},
            },
            {
                "type": "compaction",
                "timestamp": _at(3),
                "summary": "S",
                "firstKeptEntryIndex": 2,
                "tokensBefore": 10,
            },
            {
                "type": "message",
                "timestamp": _at(4),
                "message": {"role": "user", "content": "three", "timestamp": 4},
            },
        ),
        "version-1-damaged": _file(
            {"type": "session", "id": "v1", "timestamp": _at(0), "cwd": "/home/demo/edge"},
            {
                "type": "message",
                "timestamp": _at(1),
                "message": {"role": "user", "content": "one", "timestamp": 1},
            },
            '{"type":"message","torn',
            {
                "type": "message",
                "timestamp": _at(2),
                "message": {"role": "user", "content": "two", "timestamp": 2},
            },
            {
                "type": "compaction",
                "timestamp": _at(3),
                "summary": "S",
                "firstKeptEntryIndex": 2,
                "tokensBefore": 10,
            },
            {
                "type": "message",
                "timestamp": _at(4),
                "message": {"role": "user", "content": "three", "timestamp": 4},
            },
        ),
    }


def _bytes(pair: list[Json]) -> dict[str, bytes]:
    whole = _file(_header(), *pair)
    return {
        "empty": b"",
        "blank": b"\n  \n",
        "garbage": b"hello world\n",
        "byte-order-mark": b"\xef\xbb\xbf" + whole,
        "crlf": _file(_header(), *pair, newline="\r\n"),
        "lone-cr": whole.replace(b"\n", b"\r"),
        "blank-lines": _file("", _header(), "", pair[0], "   ", pair[1], ""),
        "no-newline-at-end": _file(_header(), *pair, end=""),
        "torn-tail": _file(_header(), pair[0], _line(pair[1])[:60], end=""),
        "nul-tail": _file(_header(), *pair) + b"\0\0\0",
        "torn-middle": _file(_header(), pair[0], '{"type":"message","id":', *pair[1:], _user("c", "b", "after")),
        "fused": _file(_header(), _line(pair[0]) + _line(pair[1]), _answer("c", "a", "after")),
        "fused-garbage": _file(_header(), _line(pair[0]) + "garbage", _answer("c", "a", "after")),
        "null-line": _file(_header(), pair[0], "null", pair[1]),
        "scalars": _file(_header(), pair[0], "42", '"x"', "[]", "true", "false", "0", '""', pair[1]),
        "scalar-at-end": _file(_header(), *pair, "42"),
        "not-utf-8": _file(_header(), pair[0], _user("b", "a", "xZZy")).replace(b"ZZ", b"\xff\xfe\xc3"),
        "lone-surrogate": _file(_header(), _line(_user("a", None, "xZZy")).replace("ZZ", "\\ud83d")),
        "line-separator": _file(_header(), _user("a", None, "line\u2028sep\u2029end"), pair[1]),
        "nan": _file(_header(), pair[0], _line(_entry("custom", "n", "a", 3, data=0)).replace("0}", "NaN}")),
        "big-number": _file(_header(), pair[0], _line(_entry("custom", "n", "a", 3, data=0)).replace("0}", "1e999}")),
    }


def _trees(pair: list[Json]) -> dict[str, bytes]:
    return {
        "unknown-type": _file(_header(), pair[0], _entry("some_new_thing", "w", "a", 3, x=1), _answer("c", "w")),
        "no-type": _file(_header(), pair[0], {"id": "q", "parentId": "a", "timestamp": _at(3)}),
        "no-id": _file(_header(), pair[0], {"type": "custom", "parentId": "a", "timestamp": _at(3), "customType": "x"}),
        "no-parent-key": _file(
            _header(), pair[0], {"type": "custom", "id": "b", "timestamp": _at(3), "customType": "x"}
        ),
        "empty-parent": _file(_header(), pair[0], _user("b", "", "empty parent")),
        "orphan": _file(_header(), pair[0], _user("b", "zzz", "orphan"), _answer("c", "b")),
        "parent-later": _file(_header(), pair[0], _answer("c", "b", "child first"), _user("b", "a", "its parent")),
        "duplicate-id": _file(_header(), pair[0], _user("b", "a", "B1"), _user("b", "a", "B2")),
        "duplicate-id-loop": _file(
            _header(), _user("a", None, "A1"), _answer("b", "a"), _user("a", "b", "A2"), _answer("c", "a")
        ),
        "self-parent": _file(_header(), pair[0], _user("b", "b", "self"), _answer("c", "a")),
        "self-parent-leaf": _file(_header(), pair[0], _user("b", "b", "self")),
        "cycle": _file(_header(), pair[0], _user("c", "d", "one"), _user("d", "c", "two"), pair[1]),
        "cycle-leaf": _file(_header(), pair[0], _user("c", "d", "one"), _user("d", "c", "two")),
        "cycle-only": _file(_header(), _user("c", "d", "one"), _user("d", "c", "two")),
        "child-order": _file(
            _header(),
            _user("a", None),
            _user("late", "a", "late", 50),
            _user("early", "a", "early", 3),
            _user("mid", "a", "mid", 30),
        ),
        "many-roots": _file(
            _header(),
            _user("a", None, "r1", 5),
            _user("b", None, "r2", 3),
            _user("c", None, "r3", 4),
            _answer("d", "b", "on r2", 6),
        ),
        "label-cleared": _file(
            _header(),
            *pair,
            _label("l1", "b", "a", "L"),
            _label("l2", "l1", "a"),
            _label("l3", "l2", "b", "M"),
            _label("l4", "l3", "b", None),
        ),
        "label-empty": _file(_header(), *pair, _label("l1", "b", "a", "L"), _label("l2", "l1", "a", "")),
        "label-blank": _file(_header(), *pair, _label("l1", "b", "a", "  ")),
        "label-targets": _file(
            _header(),
            *pair,
            _label("l1", "b", "a", "L"),
            _label("l2", "l1", "l1", "on a label"),
            _label("l3", "l2", "nope", "ghost"),
            _label("l4", "l3", "later", "before its target"),
            _user("later", "l4", "late", 9),
        ),
        "label-order-is-the-file's": _file(
            _header(),
            *pair,
            _label("l1", "b", "a", "first", 50),
            _label("l2", "l1", "a", "although older", 2),
        ),
    }


def _label(entry_id: str, parent: str, target: str, *label: str | int | None) -> Json:
    """A label entry; without a label it clears."""
    text = {"label": label[0]} if label else {}
    seconds = label[1] if len(label) > 1 and isinstance(label[1], int) else 8
    return _entry("label", entry_id, parent, seconds, targetId=target, **text)


def _compaction(entry_id: str, parent: str, kept: Any, seconds: int, **fields: Any) -> Json:
    body = {"summary": f"summary {entry_id}", "firstKeptEntryId": kept, "tokensBefore": 12345} | fields
    return _entry("compaction", entry_id, parent, seconds, **body)


def _contexts() -> dict[str, bytes]:
    q1, r1 = _user("a", None, "q1", 2), _answer("b", "a", "r1", 3)
    aborted = _answer(
        "b",
        "a",
        [{"type": "text", "text": "half"}, _call("c1", "bash", command="ls")],
        3,
        stopReason="aborted",
    )
    custom = _entry("custom_message", "k", "b", 4, customType="prewalk-plan", content="plan", display=True)
    return {
        "compaction": _file(
            _header(),
            q1,
            r1,
            _user("d", "b", "q2", 4),
            _compaction("c", "d", "d", 5),
            _user("e", "c", "q3", 6),
        ),
        "compaction-kept-missing": _file(_header(), q1, r1, _compaction("c", "b", "zzz", 4), _user("e", "c", "q3", 6)),
        "compaction-kept-later": _file(_header(), q1, _compaction("c", "a", "e", 4), _user("e", "c", "q3", 6)),
        "compaction-kept-null": _file(_header(), q1, _compaction("c", "a", None, 4), _user("e", "c", "q3", 6)),
        "compaction-kept-itself": _file(_header(), q1, _compaction("c", "a", "c", 4), _user("e", "c", "q3", 6)),
        "compaction-twice": _file(
            _header(),
            q1,
            r1,
            _compaction("c", "b", "b", 4),
            _user("d", "c", "q2", 5),
            _compaction("e", "d", "c", 6),
            _user("f", "e", "q3", 7),
        ),
        "compaction-remote": _file(
            _header(),
            q1,
            r1,
            _compaction(
                "c",
                "b",
                "b",
                4,
                method="remote",
                preserveData={
                    "openaiRemoteCompaction": {
                        "provider": "p",
                        "replacementHistory": [{"type": "message", "role": "user"}],
                    }
                },
            ),
            _user("e", "c", "q3", 6),
        ),
        "compaction-snap": _file(
            _header(),
            q1,
            r1,
            _compaction(
                "c",
                "b",
                "b",
                4,
                method="snapcompact",
                shortSummary="short",
                preserveData={"snapcompact": {"frames": [{"data": "AAAA", "mimeType": "image/png"}]}},
            ),
            _user("e", "c", "q3", 6),
        ),
        "compaction-empty-summary": _file(
            _header(), q1, r1, _compaction("c", "b", "b", 4, summary=""), _user("e", "c", "q3", 6)
        ),
        "reset": _file(_header(), q1, r1, _entry("reset_boundary", "x", "b", 4), _user("e", "x", "q2", 6)),
        "reset-at-end": _file(_header(), q1, r1, _entry("reset_boundary", "x", "b", 4)),
        "reset-before-compaction": _file(
            _header(),
            q1,
            r1,
            _entry("reset_boundary", "x", "b", 4),
            _user("d", "x", "q2", 5),
            _compaction("c", "d", "b", 6),
            _user("e", "c", "q3", 7),
        ),
        "reset-after-compaction": _file(
            _header(),
            q1,
            r1,
            _compaction("c", "b", "b", 4),
            _user("d", "c", "q2", 5),
            _entry("reset_boundary", "x", "d", 6),
            _user("e", "x", "q3", 7),
        ),
        "aborted-turn": _file(_header(), q1, aborted, _result("r", "b", "c1", "bash"), _user("e", "r", "q2", 6)),
        "aborted-last": _file(_header(), q1, aborted),
        "error-turn": _file(
            _header(),
            q1,
            _answer("b", "a", "partly", 3, stopReason="error", errorMessage="boom"),
            _user("e", "b", "q2", 6),
        ),
        "error-turn-empty": _file(
            _header(),
            q1,
            _answer("b", "a", [], 3, stopReason="error", errorMessage="boom"),
            _user("e", "b", "q2", 6),
        ),
        "retry-recovered": _file(
            _header(),
            q1,
            _answer("b", "a", "old", 3, retryRecovery={"kind": "superseded"}),
            _answer("d", "b", "new", 5),
        ),
        "length-turn": _file(_header(), q1, _answer("b", "a", "cut", 3, stopReason="length"), _user("e", "b", "q2", 6)),
        "call-without-result": _file(
            _header(),
            q1,
            _answer("b", "a", [_call("c1", "bash", command="ls")], 3, stopReason="toolUse"),
            _user("e", "b", "q2", 6),
        ),
        "call-without-result-but-text": _file(
            _header(),
            q1,
            _answer(
                "b",
                "a",
                [{"type": "text", "text": "look"}, _call("c1", "read", path="x"), _call("c2", "ls")],
                3,
                stopReason="toolUse",
            ),
            _result("r", "b", "c2", "ls"),
            _user("e", "r", "q2", 6),
        ),
        "call-last": _file(
            _header(), q1, _answer("b", "a", [_call("c1", "bash", command="ls")], 3, stopReason="toolUse")
        ),
        "result-without-call": _file(_header(), q1, _result("r", "a", "ghost", "bash"), _user("e", "r", "q2", 6)),
        "result-on-other-branch": _file(
            _header(),
            q1,
            _answer("b", "a", [_call("c1", "bash", command="ls")], 3, stopReason="toolUse"),
            _result("r", "b", "c1", "bash"),
            _user("e", "b", "beside the result", 6),
        ),
        "result-twice": _file(
            _header(),
            q1,
            _answer("b", "a", [_call("c1", "bash", command="ls")], 3, stopReason="toolUse"),
            _result("r", "b", "c1", "bash"),
            _result("s", "r", "c1", "bash", 5),
            _user("e", "s", "q2", 6),
        ),
        "plan-message": _file(_header(), q1, r1, custom, _user("e", "k", "q2", 6)),
        "vibe-message": _file(
            _header(), q1, r1, custom | {"customType": "vibe-mode-context"}, _user("e", "k", "q2", 6)
        ),
        "custom-blocks": _file(
            _header(),
            q1,
            r1,
            custom
            | {
                "customType": "note",
                "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
            },
        ),
        "custom-no-content": _file(
            _header(), q1, r1, _entry("custom_message", "k", "b", 4, customType="note", display=True)
        ),
        "notes": _file(
            _header(),
            q1,
            r1,
            _entry(
                "custom",
                "n",
                "b",
                4,
                customType="experimental_context_notes",
                data={"notes": "remember this", "text": "remember"},
            ),
            _user("e", "n", "q2", 6),
        ),
        "branch-summaries": _file(
            _header(),
            q1,
            r1,
            _entry("branch_summary", "s", "a", 4, fromId="b", summary="tried b"),
            _entry(
                "branch_summary",
                "t",
                "s",
                5,
                fromId="s",
                summary="",
                details={"kind": "discarded-entry-branch"},
            ),
            _user("e", "t", "q2", 6),
        ),
        "content-null": _file(_header(), q1, _user("b", "a", None, 3), _user("c", "b", "q2", 4)),
        "content-missing": _file(_header(), q1, _message("b", "a", 3, "user"), _user("c", "b", "q2", 4)),
        "content-odd-blocks": _file(
            _header(),
            q1,
            _user(
                "b",
                "a",
                [
                    {"type": "text"},
                    {"type": "image", "data": "AA==", "mimeType": "image/png"},
                    {"type": "text", "text": "after"},
                ],
                3,
            ),
        ),
        "content-null-answer": _file(_header(), q1, _message("b", "a", 3, "assistant", content=None)),
        "content-number": _file(_header(), q1, _user("b", "a", 5, 3), _user("c", "b", "q2", 4)),
        "content-null-block": _file(_header(), q1, _user("b", "a", [None, {"type": "text", "text": "x"}], 3)),
        "content-null-late": _file(
            _header(), q1, _user("b", "a", "x" * 5000, 3), _user("c", "b", None, 4), _user("d", "c", "q2", 5)
        ),
        "content-null-tool": _file(
            _header(), q1, _answer("b", "a", [_call("c1", "ls")], 3), _result("c", "b", "c1", "ls", content=None)
        ),
        "message-missing": _file(_header(), q1, _entry("message", "b", "a", 3)),
        "message-null": _file(_header(), q1, _entry("message", "b", "a", 3, message=None)),
        "hook-message": _file(
            _header(version=2),
            q1,
            _message("b", "a", 3, "hookMessage", customType="h", content="hook", display=True),
        ),
        "unknown-role": _file(_header(), q1, _message("b", "a", 3, "narrator", content="told")),
    }


def _snapshots() -> dict[str, bytes]:
    """Compactions whose summary Anthropic made of the history up to an entry, while the session went on."""
    made = {"provider": "anthropic", "content": "SUMMARY", "encryptedContent": "x"}
    remote = {"provider": "openai", "replacementHistory": [{"type": "message", "role": "user"}]}
    through: Json = {"providerReplayThroughEntryId": "b"}
    history = [
        _user("a", None, "old question", 1),
        _answer("b", "a", "old answer", 2),
        _label("l", "b", "a", "mark"),
        _user("c", "l", "asked while it ran", 3),
        _answer("d", "c", "answered while it ran", 4),
    ]

    def kept_by(kept: str | None, snapshot: Any = made, **more: Any) -> bytes:
        preserved = {"preserveData": {"anthropicCompaction": snapshot}} | more
        compaction = _compaction("k", "d", kept, 5, method="remote", **preserved)
        return _file(_header(), *history, compaction, _user("e", "k", "after", 6))

    return {
        "snapshot": kept_by("", **through),
        "snapshot-through-label": kept_by("", providerReplayThroughEntryId="l"),
        "snapshot-through-last": kept_by("", providerReplayThroughEntryId="d"),
        "snapshot-through-itself": kept_by("", providerReplayThroughEntryId="k"),
        "snapshot-through-later": kept_by("", providerReplayThroughEntryId="e"),
        "snapshot-through-nothing": kept_by(""),
        "snapshot-through-missing": kept_by("", providerReplayThroughEntryId="gone"),
        "snapshot-through-number": kept_by("", providerReplayThroughEntryId=5),
        "snapshot-first-kept": kept_by("d", **through),
        "snapshot-first-kept-null": kept_by(None, **through),
        "snapshot-first-kept-missing": kept_by("gone", **through),
        "snapshot-without-content": kept_by("", {"provider": "anthropic", "content": ""}, **through),
        "snapshot-without-provider": kept_by("", {"content": "SUMMARY"}, **through),
        "snapshot-of-numbers": kept_by("", {"provider": 1, "content": 2}, **through),
        "snapshot-null": kept_by("", None, **through),
        "snapshot-and-remote": kept_by(
            "", preserveData={"anthropicCompaction": made, "openaiRemoteCompaction": remote}, **through
        ),
        "snapshot-and-rollover": kept_by("", details={"kind": "experimental-context-rollover"}, **through),
        "snapshot-and-clear": _file(
            _header(),
            *history[:2],
            _entry("reset_boundary", "z", "b", 3),
            _user("c", "z", "asked", 3),
            _compaction("k", "c", "", 5, preserveData={"anthropicCompaction": made}, **through),
        ),
    }


def _stubs() -> dict[str, bytes]:
    """Sessions that have little: no title, no prompt or no answer."""
    image = [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]
    seen = _user("a", None, image, 1)
    call = [_call("c1", "bash", command="ls")]
    failed = {"stopReason": "error", "usage": {**USAGE, "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
    return {
        "stub-header": _file(_header()),
        "stub-slot": _file(_slot(""), _header()),
        "stub-titled": _file(_slot("A title"), _header()),
        "stub-fork": _file(_header(parentSession="/elsewhere/s.jsonl")),
        "stub-settings": _file(_header(), _entry("model_change", "m", None, 2, model="p/m")),
        "stub-label": _file(_header(), _entry("model_change", "m", None, 2, model="p/m"), _label("l", "m", "m", "x")),
        "stub-image": _file(_header(), seen),
        "stub-blank": _file(_header(), _user("a", None, "", 1)),
        "stub-blanks": _file(_header(), _user("a", None, "  ", 1)),
        "stub-prompt": _file(_header(), _user("a", None, "hi", 1)),
        "stub-answered": _file(_header(), seen, _answer("b", "a", call, 2)),
        "stub-answered-before": _file(_header(), seen, _answer("b", "a", call, 2), _user("c", "b", image, 3)),
        "stub-failed": _file(_header(), seen, _answer("b", "a", [], 2, **failed)),
        "stub-failed-before": _file(_header(), seen, _answer("b", "a", [], 2, **failed), _user("c", "b", image, 3)),
        "stub-developer": _file(_header(), _message("a", None, 1, "developer", content="reminder")),
        "stub-custom": _file(
            _header(), _entry("custom_message", "k", None, 2, customType="x", content="c", display=True)
        ),
        "stub-bash": _file(_header(), _message("a", None, 1, "bashExecution", command="ls", output="x")),
        "stub-late-answer": _file(
            _header(),
            _entry("custom", "k", None, 2, customType="x", data="y" * 5_000),
            _answer("b", "k", call, 2),
            _entry("custom", "z", "b", 2, customType="x", data="y" * 40_000),
        ),
    }


def _settings() -> dict[str, bytes]:
    q1 = _user("a", None, "q1", 2)

    def model(entry_id: str, parent: str, seconds: int, **fields: Any) -> Json:
        return _entry("model_change", entry_id, parent, seconds, **fields)

    def level(entry_id: str, parent: str, seconds: int, value: Any, **fields: Any) -> Json:
        return _entry("thinking_level_change", entry_id, parent, seconds, thinkingLevel=value, **fields)

    return {
        "models-by-role": _file(
            _header(),
            q1,
            model("m1", "a", 3, model="p/one", role="default"),
            model("m2", "m1", 4, model="p/two", role="smol"),
            _answer("b", "m2", "r1", 5),
            model("m3", "b", 6, model="p/three", role="fallback", resolvedModelIsFallback=True),
            _user("e", "m3", "q2", 7),
        ),
        "model-of-the-answer": _file(_header(), q1, _answer("b", "a", "r1", 5)),
        "model-change-before-answer": _file(
            _header(), q1, model("m1", "a", 3, model="p/one"), _answer("b", "m1", "r1", 5)
        ),
        "model-change-after-answer": _file(
            _header(), q1, _answer("b", "a", "r1", 5), model("m1", "b", 6, model="p/with/slashes")
        ),
        "model-change-of-pi": _file(
            _header(), q1, model("m1", "a", 3, provider="pp", modelId="mm"), _user("e", "m1", "q2", 7)
        ),
        "model-without-provider": _file(_header(), q1, model("m1", "a", 3, model="alone"), _user("e", "m1", "q2", 7)),
        "thinking-null": _file(_header(), q1, level("t1", "a", 3, "high"), level("t2", "t1", 4, None)),
        "thinking-configured": _file(
            _header(),
            q1,
            level("t1", "a", 3, "high", configured="auto"),
            level("t2", "t1", 4, "low", configured=None),
        ),
        "thinking-missing": _file(_header(), q1, _entry("thinking_level_change", "t", "a", 3)),
        "tiers-and-modes": _file(
            _header(),
            q1,
            _entry("service_tier_change", "s1", "a", 3, serviceTier={"openai": "priority"}),
            _entry("service_tier_change", "s2", "s1", 4, serviceTier="flex"),
            _entry("service_tier_change", "s3", "s2", 5, serviceTier=None),
            _entry("mode_change", "o1", "s3", 6, mode="plan", data={"planFilePath": "local://p.md"}),
            _entry("mode_change", "o2", "o1", 7, mode="none"),
            _entry("mcp_tool_selection", "c", "o2", 8, selectedToolNames=["mcp__a"]),
            _entry("ttsr_injection", "t", "c", 9, injectedRules=["no-any"]),
            _entry("credential_pin", "p", "t", 10, provider="p", hash="ab"),
            _entry(
                "model_usage",
                "u",
                "p",
                11,
                purpose="title",
                role="tiny",
                api="a",
                provider="p",
                model="m",
                usage=USAGE,
                stopReason="stop",
            ),
        ),
        "usage-missing": _file(_header(), q1, _answer("b", "a", "r1", 5, usage=None), _answer("c", "b", "r2", 6)),
        "usage-of-a-task": _file(
            _header(),
            q1,
            _answer("b", "a", [_call("c1", "task", agent="scout")], 3, stopReason="toolUse"),
            _result("r", "b", "c1", "task", details={"usage": USAGE}),
            _answer("c", "r", "done", 6),
        ),
    }


def _rows() -> dict[str, bytes]:
    calls = [
        _call("c1", "bash", command="x" * 60),
        _call("c2", "read", path="/home/demo/edge/a.py", offset=5, limit=10),
        _call("c3", "read", path="b.py", offset=5),
        _call("c4", "grep", pattern="a.*b", paths=["src", "tests"]),
        _call("c5", "grep", pattern="a", path="lib"),
        _call("c6", "glob", paths="**/*.py"),
        _call("c7", "find", pattern="*.py", path="src"),
        _call("c8", "write", path="w.py", content="y" * 60),
        _call("c9", "edit", path="e.py", input="…"),
        _call("c10", "ls", path="d"),
        _call("c11", "other_tool", query="y" * 60),
        _call("c12", "ls"),
        _call("c13", "search", pattern="needle", path="hay"),
        _call("c14", "bash", command="a\nb\tc"),
        _call("c15", "python", code="print(1)"),
        _call("c16", "task", agent="scout", tasks=[{"id": "A"}]),
    ]
    results = []
    parent = "t1"
    for number, call in enumerate(calls):
        results.append(_result(f"r{number}", parent, call["id"], call["name"], 5 + number))
        parent = f"r{number}"
    bash = {"output": "ok", "exitCode": 0, "cancelled": False, "truncated": False}
    return {
        "rows-of-tools": _file(
            _header(),
            _user("u", None, "run\tthe\ntools"),
            _answer("t1", "u", calls, 3, stopReason="toolUse"),
            *results,
            _result("rx", parent, "ghost", "ls", 40),
        ),
        "rows-of-roles": _file(
            _header(),
            _message("a", None, 2, "developer", content="developer says", synthetic=True),
            _message("b", "a", 3, "bashExecution", command="make\ntest", **bash),
            _message("c", "b", 4, "pythonExecution", code="print(1)\nprint(2)", **bash),
            _message(
                "d",
                "c",
                5,
                "fileMention",
                files=[
                    {"path": "a.py", "content": "x"},
                    {"path": "b.png", "image": {"type": "image", "data": "AA=="}},
                ],
            ),
            _message(
                "e",
                "d",
                6,
                "custom",
                customType="kind",
                content="<system-reminder>inner</system-reminder>",
                display=True,
            ),
            _message("f", "e", 7, "narrator", content="unknown role"),
            _message("g", "f", 8, "system", content="system prompt"),
            _user(
                "h",
                "g",
                [
                    {"type": "text", "text": "one "},
                    {"type": "image", "data": "AA==", "mimeType": "image/png"},
                    {"type": "text", "text": "two"},
                ],
                9,
            ),
            _user("i", "h", "x" * 300, 10),
            _user("j", "i", "漢字" * 150, 11),
        ),
        "rows-of-answers": _file(
            _header(),
            _user("a", None),
            _answer("b", "a", "…", 3),
            _answer("c", "b", " . ", 4),
            _answer("d", "c", [], 5),
            _answer("e", "d", [], 6, stopReason="aborted"),
            _answer("f", "e", [], 7, stopReason="error", errorMessage="boom\nboom " + "z" * 120),
            _answer("g", "f", [], 8, stopReason="length"),
            _answer("h", "g", [{"type": "thinking", "thinking": "hm"}], 9),
            _answer("i", "h", "text and error", 10, stopReason="error", errorMessage="boom"),
            _answer("j", "i", [], 11),
        ),
        "rows-of-custom": _file(
            _header(),
            _user("a", None),
            _entry(
                "custom_message",
                "b",
                "a",
                3,
                customType="skill-prompt",
                content="expanded",
                display=True,
                details={"name": "review", "args": "fast"},
                attribution="user",
            ),
            _entry(
                "custom_message",
                "c",
                "b",
                4,
                customType="skill-prompt",
                content="by the agent",
                display=True,
                attribution="agent",
            ),
            _entry(
                "custom_message",
                "d",
                "c",
                5,
                customType="collab-prompt",
                content="from a guest",
                display=True,
                attribution="user",
            ),
            _entry(
                "custom_message",
                "e",
                "d",
                6,
                customType="advisor",
                content="<advisory/>",
                display=True,
                details={"notes": [{"note": "n1", "severity": "concern"}, {"note": "n2"}]},
            ),
            _entry(
                "custom_message",
                "f",
                "e",
                7,
                customType="x",
                content="<system-notice>in\nside</system-notice>",
                display=False,
            ),
            _entry(
                "custom_message",
                "g",
                "f",
                8,
                customType="x",
                content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
                display=True,
            ),
            _entry("custom", "h", "g", 9, customType="com.example.state", data={"n": 1}),
            _entry("custom", "i", "h", 10, customType="session_exit", data={"kind": "normal"}),
        ),
        "rows-of-settings": _file(
            _header(),
            _user("a", None),
            _entry("model_change", "b", "a", 3, model="p/one", role="smol"),
            _entry("model_change", "c", "b", 4, provider="pp", modelId="mm"),
            _entry("thinking_level_change", "d", "c", 5, thinkingLevel=None),
            _entry("thinking_level_change", "e", "d", 6, thinkingLevel="high", configured="auto"),
            _entry("service_tier_change", "f", "e", 7, serviceTier={"openai": "flex", "google": "priority"}),
            _entry("service_tier_change", "g", "f", 8, serviceTier=None),
            _entry("mode_change", "h", "g", 9, mode="plan"),
            _entry("title_change", "i", "h", 10, title="New", source="user", previousTitle="Old"),
            _label("j", "i", "a", "mark"),
            _label("k", "j", "b"),
            _entry("ttsr_injection", "l", "k", 11, injectedRules=["r1", "r2"]),
            _entry("credential_pin", "m", "l", 12, provider="p", hash="ab"),
            _entry("session_init", "n", "m", 13, systemPrompt="You", task="scout", tools=["read"]),
            _entry("model_usage", "o", "n", 14, purpose="title", api="a", provider="p", model="m", usage=USAGE),
            _entry("mcp_tool_selection", "p", "o", 15, selectedToolNames=["x"]),
            _entry("reset_boundary", "q", "p", 16),
            _entry("session_info", "r", "q", 17, name="pi's"),
            _entry("usage", "s", "r", 18, note="cache"),
            _entry("context_edit", "t", "s", 19, targetId="a", replacement=None),
            _entry(
                "compaction",
                "u",
                "t",
                20,
                summary="S",
                firstKeptEntryId="a",
                tokensBefore=80999,
                shortSummary="short",
            ),
            _entry("branch_summary", "v", "u", 21, fromId="u", summary="tried\nsomething"),
            _entry("some_new_thing", "w", "v", 22),
        ),
        "rows-of-patches": _file(
            _header(),
            _user("a", None, "q", 1),
            _answer("b", "a", [_call("c1", "edit", input="[src/a.py#1a2b]\nPUT 3.=3:\n+new")], 2),
            _result("c", "b", "c1", "edit", 3, details={"path": "/p/src/a.py", "diff": "-3|old\n+3|new"}),
        ),
        "rows-of-branches": _file(
            _header(),
            _user("a", None, "root", 1),
            _answer("b", "a", "first", 2),
            _user("c", "b", "left", 3),
            _answer("d", "c", "left answer", 4),
            _user("e", "b", "right", 5),
            _answer("f", "e", "right answer", 6),
            _user("g", "f", "right left", 7),
            _user("h", "f", "right right", 8),
            _label("l", "h", "g", "here"),
            _answer("i", "d", "left goes on and is the leaf", 9),
        ),
        "rows-of-roots": _file(
            _header(),
            _user("a", None, "r1", 1),
            _answer("b", "a", "x", 2),
            _user("c", "a", "y", 3),
            _user("d", None, "r2", 4),
            _answer("e", "d", "leaf", 5),
        ),
    }
