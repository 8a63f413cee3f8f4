"""The size of a context is what the last answer counted, and an estimate of what came after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sessionbrowse.model.context import build
from sessionbrowse.model.context.token_parts import UsedTokens, used_tokens
from tests.support.session_files import answer, entry, header, opened, user

USAGE = {"input": 2_000, "output": 100, "cacheRead": 170_000, "cacheWrite": 5_900, "totalTokens": 178_000}


def size(tmp_path: Path, *lines: bytes) -> UsedTokens:
    return used_tokens(build.build(opened(tmp_path, header(), *lines)))


def said(entry_id: str, parent: str, **fields: Any) -> bytes:
    return answer(entry_id, parent, **{"usage": USAGE, "stopReason": "stop", **fields})


def test_the_last_answer_tells_the_whole_and_later_texts_are_estimated(tmp_path: Path) -> None:
    asked = user("u1", None, "q" * 400)
    assert size(tmp_path, asked, said("a1", "u1")) == UsedTokens(178_000, 0, held=102)
    later = (user("u2", "a1", "q" * 400), user("u3", "u2", "q" * 40))
    assert size(tmp_path, asked, said("a1", "u1"), *later) == UsedTokens(178_000, 110, held=102)


def test_without_an_answer_that_counts_all_is_an_estimate(tmp_path: Path) -> None:
    asked = user("u1", None, "q" * 400)
    assert size(tmp_path, asked) == UsedTokens(0, 100)
    for fields in ({"stopReason": "aborted"}, {"stopReason": "error"}, {"usage": {"input": 0, "output": 0}}):
        found = size(tmp_path, asked, said("a1", "u1", **fields))
        assert found.counted == 0, fields
        assert found.estimated >= 100


def test_an_answer_that_was_cut_short_leaves_the_word_to_the_one_before(tmp_path: Path) -> None:
    lines = (user("u1", None), said("a1", "u1"), user("u2", "a1", "q" * 400), said("a2", "u2", stopReason="aborted"))
    found = size(tmp_path, *lines)
    assert found.counted == 178_000
    assert found.estimated >= 100


def test_answers_before_a_compaction_tell_nothing_of_the_context_after_it(tmp_path: Path) -> None:
    lines = (user("u1", None), user("u2", "u1", "q" * 400), said("a2", "u2"))
    compaction = entry("compaction", "k", "a2", summary="s" * 400, firstKeptEntryId="u2", tokensBefore=178_000)
    assert size(tmp_path, *lines, compaction).counted == 0
    usage = {"input": 900, "output": 100}
    after = (user("u3", "k"), said("a3", "u3", usage=usage))
    assert size(tmp_path, *lines, compaction, *after) == UsedTokens(1_000, 0, held=206)
