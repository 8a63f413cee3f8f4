"""Every answer of the search is that of a scan over the decoded files, with an index and without."""

from __future__ import annotations

import gzip
import json
import random
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sessionbrowse.model.listing.title_search import is_near
from sessionbrowse.model.search.entry_text import message_text, tool_text
from sessionbrowse.model.search.query import (
    BadSearch,
    has_words,
    may_be_in,
    parse_question,
    parse_search,
    snippet,
    word_spans,
)
from sessionbrowse.model.search.words import fold, fold_foreign, literal, original_offsets, words_of
from sessionbrowse.services.list.gather import Snapshot, gather_summaries, take_snapshot, update_index
from sessionbrowse.services.search.hits import Hit
from sessionbrowse.services.search.ranking import Ranker, can_rank
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.store.index.index import open_index
from tests.support.index_support import answer, append, entry, folder, header, line_of, result, scope_of, user, write

VOCABULARY = [
    "login", "Login", "logout", "auth", "authentication", "naïve", "NAÏVE", "über", "Straße", "strasse", "日本語",
    "日本", "本語の", "テスト", "한국어", "foo_bar", "foo", "bar2", "x", "ab", "don't", "a-b-c", "→", "—", "éé",
    "e\u0301", "path/to/file.py", "\u2028", "\t", "\n\n", "🎉", "İstanbul", "ﬁle", "\x00", '"quoted"', "\\n",
]  # fmt: skip


def random_text(dice: random.Random) -> str:
    return dice.choice([" ", " ", "", "\n"]).join(dice.choices(VOCABULARY, k=dice.randint(0, 12)))


def random_store(root: Path, dice: random.Random) -> None:
    for number in range(12):
        lines: list[Any] = [header(f"s{number}", cwd=f"/home/dev/{dice.choice(['shop', 'blog'])}")]
        ids: list[str] = []
        for step in range(dice.randint(1, 30)):
            made = f"e{step}"
            parent = (dice.choice(ids) if dice.random() < 0.2 else ids[-1]) if ids else None
            text = random_text(dice)
            kinds = ["user", "user", "answer", "answer", "result", "compaction", "custom_message", "string", "system"]
            kind = dice.choice(kinds)
            if kind == "user":
                lines.append(user(made, parent, text))
            elif kind == "string":
                lines.append(entry("message", made, parent, message={"role": "user", "content": text}))
            elif kind == "system":
                prompt = {
                    "role": "system",
                    "content": "",
                    "sections": {"preamble": text},
                    "toolsAdded": [{"name": "x"}],
                }
                lines.append(entry("message", made, parent, message=prompt))
            elif kind == "answer":
                lines.append(answer(made, parent, text, command=random_text(dice)))
            elif kind == "result":
                lines.append(result(made, parent, text))
            elif kind == "compaction":
                lines.append(entry(kind, made, parent, summary=text, firstKeptEntryId=ids[0] if ids else made))
            else:
                lines.append(entry(kind, made, parent, customType="x", content=text, display=True))
            ids.append(made)
        if dice.random() < 0.3:
            lines.append(entry("session_info", "name", ids[-1], name=random_text(dice)))
        if dice.random() < 0.4:
            lines.append(entry("label", "mark", ids[-1], targetId=dice.choice(ids), label=random_text(dice)))
        write(folder(root) / f"{number}.jsonl", *lines)


def random_query(dice: random.Random) -> str:
    def piece() -> str:
        word = dice.choice(VOCABULARY).replace('"', "")
        begin = dice.choice([0, 0, 0, 1])
        return word[begin : begin + dice.choice([1, 2, 3, 20])]

    terms = []
    for _ in range(dice.choice([1, 1, 2, 3])):
        how = dice.random()
        if how < 0.57:
            terms.append(piece())
        elif how < 0.6:
            terms.append(f'-"{piece()}"')
        elif how < 0.63:
            terms.append(f'label:"{piece()}"')
        elif how < 0.9:
            terms.append('"' + dice.choice([" ", ""]).join(piece() for _ in range(dice.randint(1, 3))) + '"')
        else:
            terms.append(
                dice.choice(
                    ["role:user", "role:tool", "role:system", "tool:bash", "project:shop", "model:claude", "agent:pi"]
                )
            )
    if dice.random() < 0.05:
        terms.append("re:" + dice.choice(["log(in|out)", "^foo", "a.b", "日+"]))
    return " ".join(terms)


def brute_force(root: Path, text: str, tools: bool) -> set[tuple[str, int]]:
    """The entries that match, by nothing but the files, `json`, and a plain reading of the grammar's words."""
    query = parse_search(text)
    found = set()
    tools = tools or bool(query.tools)
    for path in sorted(root.rglob("*.jsonl")):
        values: list[Any] = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
        labels = {value["targetId"]: value["label"] for value in values if value["type"] == "label"}
        for index, value in enumerate(values[1:]):
            more = tool_text(value) if tools else names_in_calls(value)
            said: str = "\n".join(part for part in (message_text(value), more) if part)
            message = value.get("message") or {}
            role = (message.get("role") or value["type"]).lower()
            called = [b.get("name") for b in message.get("content") or [] if isinstance(b, dict)]
            known = words_of(said)
            if (
                said
                and all(any(word.startswith(wanted) for word in known) for wanted in query.words)
                and all(starts_a_word(phrase, literal(said)) for phrase in query.phrases)
                and not any(starts_a_word(phrase, literal(said)) for phrase in query.excluded)
                and matches_pattern(query.pattern, said)
                and (not query.roles or any(role.startswith(wanted) for wanted in query.roles))
                and (
                    not query.labels
                    or any(wanted in literal(labels[value["id"]]) for wanted in query.labels if labels.get(value["id"]))
                )
                and (not query.tools or bool({message.get("toolName"), *called} & set(query.tools)))
                and all(wanted in values[0]["cwd"] for wanted in query.projects)
                and all(wanted in f"{message.get('provider')}/{message.get('model')}" for wanted in query.models)
            ):
                found.add((str(path), index))
    return found


def names_in_calls(value: Any) -> str:
    """The names of an entry's tools and their commands: the tools of these stores are called with nothing else."""
    content = (value.get("message") or {}).get("content") or []
    calls = [block for block in content if isinstance(block, dict) and block["type"] == "toolCall"]
    return "\n".join(text for call in calls for text in (call["name"], call["arguments"]["command"]) if text)


def matches_pattern(pattern: str | None, text: str) -> bool:
    return pattern is None or re.search(pattern, text, re.IGNORECASE) is not None


def starts_a_word(phrase: str, text: str) -> bool:
    """Whether a phrase stands in a folded text, from the beginning of a word."""
    for at in range(len(text)):
        if text.startswith(phrase, at):
            first = words_of(phrase[:1])
            together = words_of(text[at - 1 : at] + phrase[:1]) if at else first
            if not first or together == first or len(together) == 2:
                return True
    return False


def hits_of(searcher: Searcher, text: str, *, tools: bool = False) -> list[Hit]:
    return list(searcher.find(parse_search(text), tools=tools))


def of_entries(hits: list[Hit]) -> set[tuple[str, int]]:
    found = [(hit.path, hit.entry_index) for hit in hits if hit.entry_index is not None and hit.role != "label"]
    assert len(found) == len(set(found)), "an entry was found twice"
    return set(found)


@pytest.mark.slow
@pytest.mark.parametrize("queries", [50, pytest.param(550, marks=pytest.mark.stress)])
@pytest.mark.parametrize("seed", range(4))
def test_every_answer_is_that_of_a_scan_over_the_decoded_files(tmp_path: Path, seed: int, queries: int) -> None:
    dice = random.Random(seed)
    random_store(tmp_path / "store", dice)
    index = open_index(tmp_path / "cache", pytest.fail, create=True)
    assert index is not None
    with_tools = bool(seed % 2)
    update_index(scope_of(tmp_path / "store"), index, tools=with_tools)
    # What was appended later stands in another segment of the index.
    for path in list((tmp_path / "store").rglob("*.jsonl"))[::3]:
        append(path, user("late", "e0", random_text(dice)), answer("later", "late", random_text(dice)))
    gathered = take_snapshot(scope_of(tmp_path / "store"), index)
    assert len(gathered.rows) == 12
    from_index = Searcher(gathered, index)
    from_files = Searcher(Snapshot(gather_summaries(scope_of(tmp_path / "store"))))
    some = 0
    for number in range(queries):
        text = random_query(dice)
        tools = number % 2 == 0
        hits = hits_of(from_index, text, tools=tools)
        if not parse_search(text).is_empty:
            expected = brute_force(tmp_path / "store", text, tools)
            assert of_entries(hits) == expected, text
            some += bool(expected)
        if number % 5 == 0:
            assert hits_of(from_files, text, tools=tools) == hits, text
    assert some > queries / 4


def quoted_query(dice: random.Random) -> str:
    """Return one or two phrases in quotes, of one to three words that texts may hold side by side."""
    said = [word.replace('"', "") for word in VOCABULARY]
    phrases = [dice.choice([" ", " ", "", "\n"]).join(dice.choices(said, k=dice.randint(1, 3))) for _ in range(2)]
    return " ".join(f'"{phrase}"' for phrase in phrases[: dice.choice([1, 1, 2])])


def stands_whole(phrase: str, text: str) -> bool:
    """Whether a phrase stands in a folded text and neither begins nor ends inside a word."""

    def is_cut(left: str, right: str) -> bool:
        return bool(words_of(left) and words_of(right)) and len(words_of(left + right)) == 1

    return any(
        text.startswith(phrase, at)
        and not is_cut(text[at - 1 : at] if at else "", phrase[:1])
        and not is_cut(phrase[-1:], text[at + len(phrase) :][:1])
        for at in range(len(text))
    )


def entries_with(root: Path, phrases: tuple[str, ...]) -> set[tuple[str, int]]:
    """The entries that say all phrases as whole words, by nothing but the files and `json`."""
    found = set()
    for path in sorted(root.rglob("*.jsonl")):
        for index, line in enumerate(path.read_bytes().split(b"\n")[1:-1]):
            value = json.loads(line)
            said = literal("\n".join(part for part in (message_text(value), names_in_calls(value)) if part))
            if said and all(stands_whole(phrase, said) for phrase in phrases):
                found.add((str(path), index))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("queries", [30, pytest.param(300, marks=pytest.mark.stress)])
@pytest.mark.parametrize("seed", range(4))
def test_what_a_search_calls_exact_is_what_a_reading_of_the_files_finds(
    tmp_path: Path, seed: int, queries: int
) -> None:
    dice = random.Random(f"quoted {seed}")
    root = tmp_path / "store"
    random_store(root, dice)
    index = open_index(tmp_path / "cache", pytest.fail, create=True)
    assert index is not None
    update_index(scope_of(root), index)
    searchers = [
        Searcher(take_snapshot(scope_of(root), index), index),
        Searcher(Snapshot(gather_summaries(scope_of(root)))),
    ]
    asked = some = 0
    while asked < queries:
        query = parse_search(quoted_query(dice))
        if not can_rank(query):
            continue
        asked += 1
        expected = entries_with(root, query.phrases)
        some += bool(expected)
        for searcher in searchers:
            ranking = Ranker(searcher, query).rank(20, 500, copies=True)
            assert (ranking.unread, ranking.is_cut) == (0, False)
            hits = [hit for session in ranking.sessions for hit in session.hits]
            assert of_entries([hit for hit in hits if hit.match == "exact"]) == expected, query
    assert some > queries / 4


def story(tmp_path: Path) -> Searcher:
    here = folder(tmp_path / "store")
    write(
        here / "old.jsonl",
        header("old"),
        user("1", None, "Fix the login", 1_000_000_000_000),
        answer("2", "1", "The login is fixed", command="grep -rn login src", ms=1_000_000_001_000),
        user("3", "1", "Another try at the login", 1_000_000_002_000),
        entry("label", "4", "3", targetId="2", label="works now"),
    )
    write(
        here / "new.jsonl",
        header("new", cwd="/home/dev/blog"),
        user("a", None, "login page of the blog", 1_700_000_000_000),
        user("b", "a", "kept", 1_700_000_000_500),
        entry("compaction", "c", "b", summary="We spoke of pages", firstKeptEntryId="b", tokensBefore=9),
        entry("session_info", "d", "c", name="Authentication for the blog"),
    )
    index = open_index(tmp_path / "cache", pytest.fail, create=True)
    assert index is not None
    return Searcher(take_snapshot(scope_of(tmp_path / "store"), index), index)


def test_hits_are_entries_with_role_branch_and_the_match_marked(tmp_path: Path) -> None:
    hits = hits_of(story(tmp_path), "login")
    assert [(hit.id, hit.entry_id, hit.role, hit.state) for hit in hits] == [
        ("new", "a", "user", "compacted"),
        ("old", "3", "user", "active"),
        ("old", "2", "assistant", "abandoned"),
        ("old", "1", "user", "active"),
    ]
    for hit in hits:
        assert [hit.snippet[begin:end] for begin, end in hit.marks] == ["login"]
    assert [hit.score for hit in hits] == sorted([hit.score for hit in hits], reverse=True)


def test_names_and_labels_come_before_text_and_titles_forgive_a_typo(tmp_path: Path) -> None:
    searcher = story(tmp_path)
    assert [(hit.role, hit.id) for hit in hits_of(searcher, "blog")][:2] == [("name", "new"), ("user", "new")]
    assert [(hit.role, hit.entry_id) for hit in hits_of(searcher, "works")] == [("label", "2")]
    assert [(hit.role, hit.id) for hit in hits_of(searcher, "authentcation")] == [("name", "new")]
    assert hits_of(searcher, "zebra") == []


def test_a_session_with_hits_is_not_found_again_by_a_title_with_a_typo(tmp_path: Path) -> None:
    info = entry("session_info", "2", "1", name="Fix the login")
    write(folder(tmp_path) / "1.jsonl", header("one"), user("1", None, "many logins"), info)
    searcher = Searcher(Snapshot(gather_summaries(scope_of(tmp_path))))
    assert [(hit.role, hit.match) for hit in hits_of(searcher, "logins")] == [("user", "exact")]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("login project:blog", ["a"]),
        ("login role:assistant", ["2"]),
        ("login branch:abandoned", ["2"]),
        ("login branch:compacted", ["a"]),
        ("login branch:any", ["a", "3", "2", "1"]),
        ("login label:works", ["2"]),
        ("label:works", ["2"]),
        ("login label:\N{COMBINING ACUTE ACCENT}", ["a", "3", "2", "1"]),
        ("tool:bash", ["2"]),
        ("grep tool:bash", ["2"]),
        ("login model:sonnet", ["2"]),
        ("login agent:omp", []),
        ("login after:2027", []),
        ("login before:2027", ["a", "3", "2", "1"]),
        ('"the login"', ["3", "2", "1"]),
        ('"he login"', []),
        ('"fix  THE"', ["1"]),
        ("re:log.n (page|is)", ["a", "2"]),
        ('name:"for the" login', ["a"]),
        ("log fix", ["2", "1"]),
        ("role:compaction spoke", ["c"]),
    ],
)
def test_filters_phrases_and_patterns(tmp_path: Path, query: str, expected: list[str]) -> None:
    assert [hit.entry_id for hit in hits_of(story(tmp_path), query) if hit.entry_id is not None] == expected


def test_a_file_that_becomes_shorter_while_it_is_searched_gives_no_hit_twice(tmp_path: Path) -> None:
    searcher = story(tmp_path)
    path = folder(tmp_path / "store") / "old.jsonl"
    write(path, header("old"), *[user(str(number), None, "zebra" + " and more" * 40) for number in range(40)])
    index = open_index(tmp_path / "cache", print, create=True)
    assert index is not None
    searcher = Searcher(take_snapshot(scope_of(tmp_path / "store"), index), index)
    hits = searcher.find(parse_search("zebra"))
    first = next(hits)
    write(path, header("old"), *[user(str(number), None, "zebra") for number in range(40)])
    found = [first.entry_index, *[hit.entry_index for hit in hits]]
    assert len(found) == len(set(found))


def test_what_omp_packed_is_known_and_found_as_it_is_without_an_index(tmp_path: Path) -> None:
    place = tmp_path / ".omp" / "agent" / "archive" / "sessions" / "-shop"
    place.mkdir(parents=True)
    (tmp_path / ".omp" / "agent" / "sessions").mkdir()
    plain = write(
        tmp_path / "plain",
        header(),
        user("1", None, "the packed login"),
        entry("label", "2", "1", targetId="1", label="mark"),
    )
    (place / "2026-08-13T08-00-00-000Z_s1.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    scope = scope_of(tmp_path, archived=True)
    scope = replace(scope, roots=(), around=replace(scope.around, home=str(tmp_path)))
    index = open_index(tmp_path / "cache", pytest.fail, create=True)
    assert index is not None
    read = gather_summaries(scope)
    known = take_snapshot(scope, index)
    assert [(each.agent, each.message_count, each.problem) for each in read] == [("omp", 1, None)]
    assert known.summaries == read
    assert known.rows
    for searcher in (Searcher(known, index), Searcher(Snapshot(read))):
        assert [hit.entry_id for hit in hits_of(searcher, "packed login")] == ["1"]
        assert [hit.entry_id for hit in hits_of(searcher, "re:log.n")] == ["1"]
        assert [mark.label for mark in searcher.trees.labels(read[0])] == ["mark"]


def test_checkpoints_are_the_labels_with_their_entries(tmp_path: Path) -> None:
    searcher = story(tmp_path)
    found = [mark for summary in searcher.summaries for mark in searcher.trees.labels(summary)]
    assert [(mark.label, mark.entry_id, mark.entry_index, mark.state) for mark in found] == [
        ("works now", "2", 1, "abandoned")
    ]
    assert "The login is fixed" in found[0].preview


def test_titles_forgive_more_the_longer_the_word_is(tmp_path: Path) -> None:
    assert is_near("authentcation", "authentication")
    assert is_near("tset_", "test_one")
    assert not is_near("tset", "test")
    assert not is_near("authntcatn", "authentication")
    assert is_near("auth", "authentication")


def test_names_in_tool_calls_are_found_and_results_on_request_only(tmp_path: Path) -> None:
    searcher = story(tmp_path)
    assert [(hit.role, hit.entry_id) for hit in hits_of(searcher, "grep")] == [("toolCall", "2")]
    write(folder(tmp_path / "store") / "result.jsonl", header("r"), result("9", None, "quokka"))
    searcher = Searcher(take_snapshot(scope_of(tmp_path / "store"), None))
    assert hits_of(searcher, "quokka") == []
    assert [hit.entry_id for hit in hits_of(searcher, "quokka", tools=True)] == ["9"]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("re:(", "The pattern is not valid"),
        ("re:", "Type a pattern"),
        ("after:soon", "after: needs a date"),
        ("agent:emacs", "agent: takes"),
        ("branch:left", "branch: takes"),
        ("fix -agent:claude", 'type -"agent:claude" to exclude this text'),
        ("-Since:7d fix", "A filter cannot be excluded"),
        ('fix -project:"my shop"', "A filter cannot be excluded"),
    ],
)
def test_what_cannot_be_asked_says_why(query: str, sentence: str) -> None:
    with pytest.raises(BadSearch) as caught:
        parse_search(query)
    assert sentence in caught.value.sentence


def test_a_text_that_looks_like_a_filter_can_be_excluded() -> None:
    assert parse_search('fix -"agent:claude" -http://x -foo:bar').excluded == ("agent:claude", "http://x", "foo:bar")


@pytest.mark.parametrize("query", ['fix "unfinished phrase', '5" disk', 'a "b" "'])
def test_an_unfinished_phrase_is_not_searched_and_noted(query: str) -> None:
    told: list[str] = []
    assert parse_question(query, told.append).has_text
    unfinished = query.rpartition('"')[2].strip()
    assert told == ([f'"{unfinished} was not searched: type the closing " of the phrase.'] if unfinished else [])


@pytest.mark.parametrize("query", ["!!! ...", "tool:", 'name:""', "branch:any", '"'])
def test_a_question_without_anything_to_look_for_says_so(query: str) -> None:
    with pytest.raises(BadSearch, match="Add a search word"):
        parse_question(query)
    assert parse_question(" ").is_empty
    assert not parse_question('"🎉"').is_empty


def test_a_search_stops_when_it_is_told(tmp_path: Path) -> None:
    searcher = story(tmp_path)
    asked = 0

    def cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > 1

    assert len(list(searcher.find(parse_search("re:."), cancelled=cancelled))) < 2


def test_a_file_that_changed_under_the_index_is_still_searched_as_it_is(tmp_path: Path) -> None:
    searcher = story(tmp_path)
    path = folder(tmp_path / "store") / "old.jsonl"
    write(path, header("old"), user("1", None, "short"))
    assert {hit.id for hit in hits_of(searcher, "login")} == {"new"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, World_2!", ["hello", "world_2"]),
        ("naïve Über", ["naive", "uber"]),
        ("e\u0301te\u0301", ["ete"]),
        ("日本語x", ["日", "本", "語", "x"]),
        ("a→b — c", ["a", "b", "c"]),
        ("Straße", ["strasse"]),
        ("한국", ["한", "국"]),
        ("\ud800x", ["x"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_the_index_holds_letters_as_they_are_asked_for() -> None:
    letters = [chr(code) for code in range(0x80, 0x20000) if chr(code).isalpha()]
    assert [letter for letter in letters if fold_foreign(letter) != fold(letter)] == []


def test_the_words_of_the_command_lines_time_options_are_filters_too() -> None:
    now = datetime(2026, 8, 13, tzinfo=UTC)
    assert parse_search("since:1d UNTIL:2026-09 x", now) == parse_search("after:1d before:2026-09 x", now)


def test_relative_dates_count_from_now() -> None:
    now = datetime(2026, 8, 13, tzinfo=UTC)
    assert parse_search("after:1d", now).after_ms == datetime(2026, 8, 12, tzinfo=UTC).timestamp() * 1000
    today, yesterday = (parse_search(f"after:{word}", now).after_ms for word in ("today", "yesterday"))
    assert today is not None
    assert yesterday is not None
    assert 0 <= now.timestamp() - today / 1000 < 25 * 3600, "since midnight, by the clock of the user"
    assert 23 <= (today - yesterday) / 3600 / 1000 <= 25, "a day, of 23 or 25 hours if the clock was changed"


@pytest.mark.parametrize(
    ("zone", "now", "midnight"),
    [
        ("Europe/Berlin", "2026-10-25T12:00:00+00:00", "2026-10-24T22:00:00+00:00"),  # clocks go back at 3:00
        ("Europe/Berlin", "2026-03-29T12:00:00+00:00", "2026-03-28T23:00:00+00:00"),
        ("America/Los_Angeles", "2026-08-14T02:00:00+00:00", "2026-08-13T07:00:00+00:00"),
        ("Pacific/Kiritimati", "2026-08-13T12:00:00+00:00", "2026-08-13T10:00:00+00:00"),
    ],
)
def test_a_day_begins_at_midnight_of_the_users_time_zone(
    zone: str, now: str, midnight: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    moment = datetime.fromisoformat(now)
    expected = datetime.fromisoformat(midnight).timestamp() * 1000
    local = f"{moment.astimezone():%Y-%m-%d}"
    tomorrow = moment + timedelta(days=1)
    for query, at in (
        ("after:today", moment),
        ("after:yesterday", tomorrow),
        (f"after:{local}", None),
        (f"after:{local}T00:00", None),
    ):
        assert parse_search(query, at).after_ms == expected, query


@pytest.mark.slow
def test_whatever_matches_has_the_words_that_the_index_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(3)
    letters = "aAbé→ _-日本ß\u0301K\n.İǅ½ŉ한\u2028\x00"
    for _ in range(20_000):
        text = "".join(dice.choices(letters, k=dice.randint(0, 14)))
        asked = "".join(dice.choices(letters, k=dice.randint(1, 5)))
        query = parse_search(f'"{asked}"' if dice.random() < 0.5 else asked)
        spans = word_spans(query, text)
        assert (spans is not None) == has_words(query, text)
        raw = json.dumps(text, ensure_ascii=dice.random() < 0.5).encode("utf-8", "surrogatepass")
        assert spans is None or may_be_in(query, raw)
        folded = literal(text)
        origins = original_offsets(text, range(len(folded)))
        assert len(origins) == len(folded)
        assert origins == sorted(origins)
        assert [original_offsets(text, [to])[0] for to in range(len(folded))] == origins
        # A character that folding leaves as it is comes from itself.
        assert all(folded[to] == text[at] for to, at in enumerate(origins) if text[at] in "abc_-日本→")
        assert re.findall(r"[0-9a-z_\x80-\U0010ffff]+", fold(text)) == words_of(text)
        if spans is not None:
            known = words_of(text)
            for word, is_open in query.tokens():
                assert any(other == word or (is_open and other.startswith(word)) for other in known), (query, text)
            line, marks = snippet(text, spans)
            assert all(0 <= begin < end <= len(line) for begin, end in marks)


def test_what_an_odd_entry_says_is_found_by_the_index_as_in_the_file(tmp_path: Path) -> None:
    odd = entry("custom", "c", "u", message={"role": "user", "content": "needle in a custom entry"})
    escaped = line_of(entry("note", "n", "c", message={"role": "user", "content": "needle escaped"}))
    path = write(folder(tmp_path / "root") / "a.jsonl", header("s"), user("u", None, "hay"), odd)
    with path.open("ab") as file:
        file.write(escaped.replace(b'"message"', b'"\\u006dessage"'))
    index = open_index(tmp_path / "cache", pytest.fail, create=True)
    assert index is not None
    gathered = take_snapshot(scope_of(tmp_path / "root"), index)
    for searcher in (Searcher(gathered, index), Searcher(gathered)):
        assert {hit.entry_id for hit in hits_of(searcher, "needle")} == {"c", "n"}
    index.close()


def test_words_are_found_as_they_are_shown_without_escape_sequences(tmp_path):
    """Indexed or not, a coloured word is found, its address is not, and the marks fit the text that is shown."""
    link = "\x1b]8;;https://hidden.example\x1b\\\x1b[1;31mlantern\x1b[0mlight\x1b]8;;\x1b\\ is \x9b32mlit\x9b0m"
    write(folder(tmp_path) / "0.jsonl", header("s0"), user("1", None, link), result("2", "1", link))
    cache = tmp_path / "cache"
    index = open_index(cache, print, create=True)
    assert index is not None
    update_index(scope_of(tmp_path), index)
    for known in (index, None):
        searcher = Searcher(take_snapshot(scope_of(tmp_path), known), known)
        for asked in ("lanternlight", "re:rnlight", '"lanternlight is lit"'):
            hits = list(searcher.find(parse_search(asked), tools=True))
            assert sorted(hit.snippet for hit in hits) == ["bash lanternlight is lit", "lanternlight is lit"]
            for hit in hits:
                assert [hit.snippet[begin:end] for begin, end in hit.marks] == [asked.strip('"').removeprefix("re:")]
        assert not list(searcher.find(parse_search("hidden"), tools=True))
        ranked = Ranker(searcher, parse_question("lanternlight lit"), tools=True).rank(5)
        for hit in [hit for each in ranked.sessions for hit in each.hits]:
            assert [hit.snippet[begin:end] for begin, end in hit.marks] == ["lanternlight", "lit"]
