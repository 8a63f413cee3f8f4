"""Values that entries only copy stay the JSON that the program wrote."""

from __future__ import annotations

from typing import Any

import pytest

from sessionbrowse.model.foreign.translated import Translated
from tests.model.foreign.shared import check, claude, codex
from tests.support.foreign import Claude, Codex, call, said

NUMBERS = '{"a":1.50,"b":[123456789012345678901],"c":"\\u00e9"}'


def claude_with(**call_fields: str) -> Translated:
    """Return a session with a call and its result, in which the given JSON stands for the given fields."""
    file = Claude()
    file.user("go")
    block = call("x") | {"input": "INPUT"}
    file.answer("a", {"type": "thinking", "thinking": "THINKING", "signature": "SIGNATURE"}, block)
    file.result("x", "CONTENT")
    values = {"INPUT": "{}", "THINKING": '"hm"', "SIGNATURE": '"s"', "CONTENT": '"done"'} | call_fields
    lines = b"\n".join(file.lines())
    for name, value in values.items():
        lines = lines.replace(b'"%b"' % name.encode(), value.encode())
    made = claude(lines.split(b"\n"))
    check(made)
    return made


def codex_call(arguments: Any, output: Any = "done", **fields: Any) -> tuple[Any, Any, Translated]:
    """Return the arguments of a call, the content of its result, and the session."""
    file = Codex()
    file.prompt("go")
    file.item("function_call", name="shell", arguments=arguments, call_id="x")
    file.item("function_call_output", call_id="x", output=output, **fields)
    made = codex(file.lines())
    check(made)
    answer, result = (entry["message"] for entry in made.entries[1:])
    return answer["content"][0]["arguments"], result["content"], made


def test_arguments_of_calls_are_copied_as_they_are_spelled() -> None:
    assert NUMBERS.encode() in b"".join(claude_with(INPUT=NUMBERS).lines())
    assert NUMBERS.encode() in b"".join(codex_call(NUMBERS)[2].lines())


@pytest.mark.parametrize(
    ("given", "carried"),
    [("null", {}), ('{"a":1}', {"a": 1}), ('"text"', {"input": "text"}), ("[1]", {"input": [1]})],
)
def test_the_input_of_a_call_is_an_object(given: str, carried: Any) -> None:
    answer = claude_with(INPUT=given).entries[1]["message"]
    assert answer["content"][1]["arguments"] == carried


@pytest.mark.parametrize(("thinking", "signature"), [('""', '""'), ("null", "null"), ("3", "[]"), ("{}", '"\\ud800"')])
def test_thinking_that_is_no_text_is_empty(thinking: str, signature: str) -> None:
    block = claude_with(THINKING=thinking, SIGNATURE=signature).entries[1]["message"]["content"][0]
    assert block.pop("thinkingSignature", "\ud800") == "\ud800"
    assert block == {"type": "thinking", "thinking": ""}


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        ('""', []),
        ("null", []),
        ("3", []),
        ('"a\\tb"', [said("a\tb")]),
        ('"\\ud800"', [said("\ud800")]),
        ('[{"type":"text","text":"a"}]', [said("a")]),
        ("[" * 900 + "]" * 900, []),
    ],
    ids=["empty", "null", "number", "text", "half a character", "list", "deep"],
)
def test_the_content_of_a_result_is_blocks_or_nothing(content: str, blocks: Any) -> None:
    assert claude_with(CONTENT=content).entries[2]["message"]["content"] == blocks


@pytest.mark.parametrize(
    ("given", "carried"),
    [
        ('{"command":["ls"]}', {"command": ["ls"]}),
        ('{\n  "command": ["ls"]\n}', {"command": ["ls"]}),
        (' {"a":1} ', {"a": 1}),
        ('{"a":1} x', {"arguments": '{"a":1} x'}),
        ('{"a":"\t"}', {"arguments": '{"a":"\t"}'}),
        ("[1]", {"arguments": [1]}),
        ("ls", {"arguments": "ls"}),
        ({"a": 1}, {"a": 1}),
    ],
)
def test_arguments_that_are_no_object_are_carried_as_one(given: Any, carried: Any) -> None:
    assert codex_call(given)[0] == carried


@pytest.mark.parametrize(
    ("output", "fields", "content", "failed"),
    [
        ("done", {}, "done", False),
        ("", {}, "", False),
        ("no", {"status": "failed"}, "no", True),
        ('{"output":"no","metadata":{"exit_code":1}}', {}, "no", True),
        ('{"output', {}, '{"output', False),
        ('{"output":"","metadata":{"exit_code":0}}', {}, "", False),
        ({"content": "no", "success": False}, {}, "no", True),
        (None, {}, "null", False),
    ],
)
def test_an_output_is_a_text_or_an_object_with_one(
    output: Any, fields: dict[str, Any], content: str, failed: bool
) -> None:
    _, blocks, made = codex_call("{}", output, **fields)
    assert blocks == [said(content)]
    assert made.entries[2]["message"]["isError"] is failed


def test_the_signature_of_reasoning_is_the_whole_item() -> None:
    file = Codex()
    file.prompt("go")
    item = '{"type":"reasoning","summary":[],"encrypted_content":"gAAA","n":1.0}'
    file.item("reasoning", mark="ITEM")
    lines = [line.replace(b'{"type": "reasoning", "mark": "ITEM"}', item.encode()) for line in file.lines()]
    (block,) = codex(lines).entries[1]["message"]["content"]
    assert block == {"type": "thinking", "thinking": "", "thinkingSignature": item}
