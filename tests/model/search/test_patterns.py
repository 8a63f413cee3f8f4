"""Patterns are compiled once, ignore case, and find their first match or all of them."""

from __future__ import annotations

import pytest

from sessionbrowse.model.search.patterns import BadPattern, all_spans, compiled, first_spans, is_in


def test_a_pattern_finds_its_first_match_and_all_that_are_not_empty() -> None:
    texts = ["Tree trees", "bush", ""]
    assert first_spans("tree", texts) == [(0, 4), None, None]
    assert all_spans("tree", texts) == [[(0, 4), (5, 9)], [], []]
    assert first_spans("x*", texts) == [(0, 0), (0, 0), (0, 0)]
    assert all_spans("x*", texts) == [[], [], []]


def test_lookaround_and_back_references_work() -> None:
    assert is_in(r"(?<=a)b(?!c)", "abd")
    assert not is_in(r"(?<=a)b(?!c)", "abc")
    assert is_in(r"(\w)\1", "book")


def test_what_is_no_pattern_says_why() -> None:
    with pytest.raises(BadPattern, match="missing \\)"):
        compiled("(")


def test_a_pattern_that_python_warns_of_is_compiled_in_silence(recwarn: pytest.WarningsRecorder) -> None:
    assert compiled("[[a]").search("A") is not None
    assert not [warning for warning in recwarn if issubclass(warning.category, FutureWarning)]
