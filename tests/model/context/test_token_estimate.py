"""The estimate of tokens: a quarter of the characters, rounded up; the numbers are those of pi 1.5.2."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.context_sample import IMAGE, Line, answer, bash, call, compaction, context, result, text, user


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        (user(""), 0),
        (user("a"), 1),
        (user("abcd"), 1),
        (user("abcde"), 2),
        (user("日本語🙂"), 2),  # five UTF-16 units
        (user([text("ab"), IMAGE, text("cd")]), 1201),
        (answer([{"type": "thinking", "thinking": "1234"}, text("5678")]), 2),
        (answer([call("c1", path="a/b")]), 5),  # read{"path":"a/b"}
        (answer([call("c1", half="\ud800")]), 6),  # read{"half":"\ud800"}
        (result("c1", [text("abcdefgh"), IMAGE]), 1202),
        (bash("12345678", output="1234"), 3),
        (bash("12345678", output="1234", excludeFromContext=True), 0),
        (compaction("123456789", None), 3),
        ({"message": {"role": "system", "content": "1234", "sections": {"a": "5678", "b": None}}}, 2),
        ({"message": {"role": "fancy", "content": "not sent"}}, 0),
    ],
)
def test_a_message_of_pi_takes_a_quarter_of_its_characters(line: Line, tokens: int):
    made = context("pi", line)
    assert [message.tokens for message in made.messages] == [tokens]
    assert made.tokens == tokens


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        ({"role": "pythonExecution", "code": "1+1", "output": "2"}, 1),
        ({"role": "fileMention", "files": [{"path": "ab", "content": "123456"}, {"path": "", "image": {}}]}, 1202),
        ({"role": "bashExecution", "command": "ls", "output": "x", "images": [IMAGE, IMAGE]}, 2401),
        ({"role": "assistant", "content": [{"type": "redactedThinking", "data": "1234"}]}, 1),
    ],
)
def test_messages_of_omp_are_estimated_alike(message: Any, tokens: int):
    assert context("omp", {"message": message}).tokens == tokens


def test_pictures_beside_a_summary_count():
    frame = {"data": "AAAA", "mimeType": "image/png", "cols": 1, "rows": 1, "chars": 1}
    archive = {"frames": [frame], "textTail": "x"}
    made = context("omp", compaction("1234", None, preserveData={"snapcompact": archive}))
    assert made.tokens == -(-(4 + 4800 + len("-------------- imaged middle above\nx")) // 4)
