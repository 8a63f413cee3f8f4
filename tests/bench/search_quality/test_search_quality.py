"""The questions about search hold what the measurement needs: enough, each with an answer, few given away by a word."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

import msgspec
import pytest

from tests.bench.search_quality import noise
from tests.bench.search_quality.base import Asked, Known, read_base, resolve, write_base
from tests.bench.search_quality.questions import HERE, Question, half_remembered, questions, written_sessions
from tests.bench.search_quality.ranking import Answer, quality, rank

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> tuple[list[Known], list[Asked]]:
    home = tmp_path_factory.mktemp("base") / "home"
    written = write_base(home, corpus)
    known = read_base(home, corpus, written)
    return known, [resolve(question, known, written) for question in questions()]


def test_there_are_questions_of_every_source_and_none_is_asked_twice() -> None:
    asked = questions()
    assert len(asked) >= 250
    assert not [ask for ask, count in Counter(each.ask.casefold() for each in asked).items() if count > 1]
    assert min(Counter(each.source for each in asked).values()) >= 50


def test_questions_have_one_to_six_words_and_say_what_is_wanted() -> None:
    for each in questions():
        assert 1 <= len(each.ask.split()) <= 6, each.ask
        assert each.wants.endswith((".", "?")), each.ask


def test_half_remembered_questions_are_others_and_name_sessions(base: tuple[list[Known], list[Asked]]) -> None:
    known, _ = base
    asked = half_remembered()
    assert len({each.ask.casefold() for each in (*asked, *questions())}) == len(asked) + len(questions())
    assert min(Counter(each.wants for each in asked).values()) >= 30
    written: dict[str, dict[int, str]] = {each.key: {} for each in known if each.key}
    assert all(resolve(each, known, written).sessions for each in asked)


@pytest.mark.slow
def test_every_question_names_its_session_and_an_entry(base: tuple[list[Known], list[Asked]]) -> None:
    _, asked = base
    assert all(each.sessions and each.entries for each in asked)


def test_at_most_a_third_is_answered_by_a_word_of_one_session_only(base: tuple[list[Known], list[Asked]]) -> None:
    known, asked = base
    sessions_by_word: dict[str, set[str]] = defaultdict(set)
    texts = {each.id: " ".join([each.name, *each.entries.values()]).casefold() for each in known}
    for session, text in texts.items():
        for word in set(re.findall(r"[^\W_]+", text)):
            sessions_by_word[word].add(session)

    def holding(word: str) -> set[str]:
        if noise.WIDE.search(word):  # no blanks between words
            return {session for session, text in texts.items() if word in text}
        return sessions_by_word.get(word, set())

    given_away = [
        each.question.ask
        for each in asked
        if any(
            found and found <= each.sessions
            for found in map(holding, re.findall(r"[^\W_]+", each.question.ask.casefold()))
        )
    ]
    assert len(given_away) <= len(asked) / 3, given_away


def test_noise_is_the_same_for_the_same_seed_and_invented_topics_are_not_asked_for(tmp_path: Path) -> None:
    talk = ["the cache was stale and the test failed", "clear the cache"] * 3
    asks = ["stale cache", "pale moon", "blue tree", "old road", "red barn", "dry well"]
    for invent in (False, True):
        words = noise.vocabulary(talk, asks, invent=invent)
        folders = [tmp_path / f"{invent}-{each}" for each in "ab"]
        for folder in folders:
            noise.write_noise(folder, words, 5, "seed")
        first, second = (
            {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.jsonl")} for folder in folders
        )
        assert len(first) == 5
        assert first == second
        assert (b"moon" in b"".join(first.values())) is not invent


def test_wide_writing_is_scrambled_in_pairs() -> None:
    assert noise.words_of("古い価格 cache_key") == ["古い", "価格", "cache", "key"]


def test_a_rank_is_the_place_of_the_first_right_session_and_quality_the_share() -> None:
    question = Question("stale cache", "The bug.", ("a",), ("e",))
    asked = Asked(question, frozenset({"a", "copy"}), frozenset({"e"}), frozenset({"pi"}))
    answers = [
        Answer(("x", "copy", "a"), {"x": ("e",), "copy": ("1", "2", "3", "e")}),
        Answer(("a",), {"a": ("1", "e")}),
        Answer((), {}),
        Answer((*tuple("bcdefghijk"), "a"), {}),
    ]
    assert [rank(asked, each) for each in answers] == [2, 1, 0, 0]
    found = quality([asked] * 4, answers, 3)
    assert (found.at_1, found.at_5, found.at_10, found.mrr) == (0.25, 0.5, 0.5, 0.375)
    assert (found.entry, found.unanswered) == (0.5, 0.25)


def test_written_sessions_have_keys_of_their_own_and_forks_follow_their_source() -> None:
    keys: list[str] = []
    for each in written_sessions():
        assert each.key not in keys
        assert not each.fork_of or each.fork_of in keys
        keys.append(each.key)


def test_the_files_of_questions_are_whole() -> None:
    assert msgspec.toml.decode((HERE / "questions.toml").read_bytes()).keys() == {"corpus", "demo", "written"}
