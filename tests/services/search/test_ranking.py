"""Sessions are ranked by relevance, with an index and without: by class, then by how words fit and stand together."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.model.search.query import parse_question
from sessionbrowse.model.search.words import words_of
from sessionbrowse.services.list.gather import gather, take_snapshot, update_index
from sessionbrowse.services.search import ranking as ranking_module
from sessionbrowse.services.search.ranked_page import RankedSession, Ranking
from sessionbrowse.services.search.ranking import Ranker
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.store.index.index import open_index
from sessionbrowse.store.index.texts import engine
from tests.support.index_support import answer, entry, folder, header, result, scope_of, user, write

NOW = 1786700000000.0


class Store:
    """A store of made-up sessions, and the searches of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.here = folder(root)

    def add(self, name: str, *entries: dict[str, Any], **more: Any) -> None:
        write(self.here / f"{name}.jsonl", header(name, **more), *entries)

    def ask(self, query: str, indexed: bool, sessions: int = 20, **options: Any) -> Ranking:
        index = None
        if indexed:
            index = open_index(self.root / "cache", print, create=True)
            assert index is not None
            update_index(scope_of(self.root), index)
        searcher = Searcher(take_snapshot(scope_of(self.root), index), index)
        return Ranker(searcher, parse_question(query), now_ms=NOW, **options).rank(sessions)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture(params=[True, False], ids=["index", "scan"])
def indexed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def shown(found: Ranking) -> list[tuple[str | None, str]]:
    return [(each.summary.id, each.match) for each in found.sessions]


def texts(session: RankedSession) -> list[str]:
    return [hit.snippet for hit in session.hits]


def test_an_entry_is_read_after_better_ones_that_only_seem_to_match(store, indexed):
    # The engine takes `test_login` for two words, and a user's words count more than a note's.
    often = [user(str(number), str(number - 1) if number else None, "run test_login") for number in range(5)]
    store.add(
        "seeming",
        *often,
        entry("custom_message", "5", "4", customType="note", content="the Login of all", display=True),
    )
    found = store.ask("log", indexed)
    assert shown(found) == [("seeming", "forms")]
    assert [hit.entry_id for hit in found.sessions[0].hits] == ["5"]


def test_sessions_come_by_class_exact_forms_session_some(store, indexed):
    store.add("some", user("1", None, "the footer is blue"))
    store.add("session", user("1", None, "the footer"), answer("2", "1", "a warning"))
    store.add("forms", user("1", None, "all footers had warnings"))
    store.add("exact", user("1", None, "a footer and, far from it, a warning"))
    found = store.ask("footer warning", indexed)
    assert shown(found) == [("exact", "exact"), ("forms", "forms"), ("session", "session"), ("some", "some")]
    assert found.sessions[-1].missing == ("warning",)
    assert {hit.match for hit in found.sessions[2].hits} == {"session"}


def test_words_close_together_in_a_prompt_come_before_words_far_apart(store, indexed):
    store.add("far", answer("1", None, f"login {'and so on ' * 60} timeout"))
    store.add("near", user("1", None, "the login timeout"))
    assert [each for each, _ in shown(store.ask("login timeout", indexed))] == ["near", "far"]


def test_a_rare_word_counts_more_than_a_common_one(store, indexed):
    for number in range(6):
        store.add(f"common{number}", user("1", None, "please test"))
    store.add("rare", user("1", None, "the kubelet"))
    assert store.ask("test kubelet", indexed).sessions[0].summary.id == "rare"


def test_newer_sessions_come_first_between_equals(store, indexed):
    store.add("old", user("1", None, "port to uv", ms=1700000000000))
    store.add("new", user("1", None, "port to uv", ms=1786600000000))
    store.add("other", user("1", None, "port it to uv now", ms=1700000000000))
    found = store.ask("port uv", indexed)
    assert next(each.summary.id for each in found.sessions) == "new"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("crashed themes", "a crash of the theme"),
        ("weight_update", "call start_weight_update first"),
        ("MessageText", "the class userMessageText"),
        ("auth", "authentication"),
        ("naive", "a NAÏVE idea"),
        ("登录错误", "请修复登录错误"),
        ("修复错误", "请修复登录错误"),
        ("fooBar", "a foo_bar"),
        ("fooBar", "a foo.bar"),
        ("foo_bar", "a fooBar"),
        ("foo.bar", "a fooBar"),
        ("HTTPServer", "an http-server"),
        ("ＣＳＶ", "a csv file"),
        ("csv", "a ＣＳＶ file"),
    ],
)
def test_words_are_found_as_people_type_them(store, indexed, query, text):
    store.add("wanted", user("1", None, text))
    store.add("other", user("1", None, "something else"))
    assert [each for each, _ in shown(store.ask(query, indexed))] == ["wanted"]


def test_a_misspelt_word_is_replaced_and_that_is_said(store, indexed):
    store.add("wanted", user("1", None, "ghostty colors"))
    store.add("other", user("1", None, "other colors"))
    found = store.ask("gohstty colors", indexed)
    assert shown(found) == [("wanted", "typo")]
    assert found.instead == {"gohstty": ("ghostty",)}


def test_a_quoted_phrase_must_stand_as_it_is(store, indexed):
    store.add("apart", user("1", None, "the bar of foo"))
    store.add("whole", user("1", None, "the foo bar"))
    assert shown(store.ask('"foo bar"', indexed)) == [("whole", "exact")]


def test_names_and_directories_and_ids_count(store, indexed):
    store.add("0a1b2c3d", user("1", None, "hello"), entry("session_info", "2", "1", name="Port to uv"))
    store.add("other", user("1", None, "hello"), cwd="/home/dev/kubelet")
    assert store.ask("port uv", indexed).sessions[0].hits[0].role == "name"
    assert store.ask("kubelet", indexed).sessions[0].hits[0].role == "directory"
    assert store.ask("0a1b2c", indexed).sessions[0].summary.id == "0a1b2c3d"
    assert store.ask("uv hello", indexed).sessions[0].match == "session"


def test_the_same_entry_in_a_copy_stands_once_with_a_count(store, indexed):
    store.add("first", user("1", None, "fix the flaky login test"))
    store.add("copy", user("1", None, "fix the flaky login test"))
    found = store.ask("flaky login", indexed)
    assert [len(each.hits) for each in found.sessions] == [1]
    assert found.sessions[0].hits[0].copies == 1


@pytest.mark.parametrize(("name", "shown_sessions"), [("Attachments", 2), ("Attachments, streamed", 1)])
def test_a_session_of_copied_entries_is_found_by_a_name_of_its_own(store, indexed, name, shown_sessions):
    said = user("1", None, "notes need attachments")
    store.add("fork", said, entry("session_info", "2", "1", name="Attachments, streamed"))
    store.add("source", said, entry("session_info", "2", "1", name=name))
    found = store.ask("attachments", indexed)
    assert len(found.sessions) == shown_sessions
    assert found.sessions[0].hits[0].copies + found.sessions[0].hits[-1].copies == 1
    if shown_sessions == 2:
        assert [hit.role for hit in found.sessions[1].hits] == ["name"]


def test_the_same_words_at_another_time_are_no_copy(store, indexed):
    store.add("first", user("1", None, "fix the flaky login test"))
    store.add("second", user("1", None, "fix the flaky login test") | {"timestamp": "2026-08-01T00:00:00.000Z"})
    assert len(store.ask("flaky login", indexed).sessions) == 2


def test_a_wrong_correction_does_not_hide_what_fits_without_it(store, indexed):
    store.add("right", user("1", None, "the weight transfer over nccl hangs"))
    store.add("other", user("1", None, "a bigfix"))
    found = store.ask("nccl weight transfer bigfox", indexed)
    assert shown(found)[0] == ("right", "some")


def test_an_abandoned_entry_is_told_apart_and_comes_after_an_active_one(store, indexed):
    tree = [user("1", None, "start"), user("2", "1", "flaky login one"), user("3", "1", "flaky login two")]
    store.add("tree", *tree)
    hits = store.ask("flaky login", indexed).sessions[0].hits
    assert [(hit.entry_id, hit.state) for hit in hits] == [("3", "active"), ("2", "abandoned")]
    (only,) = store.ask("flaky login branch:abandoned", indexed).sessions
    assert [hit.entry_id for hit in only.hits] == ["2"]


def test_a_snippet_shows_where_the_words_stand_together_and_marks_each(store, indexed):
    text = f"the login. {'More words here. ' * 40} a login with a timeout. {'And more. ' * 40}"
    store.add("one", user("1", None, text))
    (hit,) = store.ask("login timeout", indexed).sessions[0].hits
    assert [hit.snippet[begin:end] for begin, end in hit.marks] == ["login", "timeout"]


def test_tools_are_searched_only_where_asked(store, indexed):
    store.add("one", user("1", None, "go"), answer("2", "1", "ok", command="make lint"), result("3", "2", "quokka"))
    assert store.ask("quokka", indexed).sessions == []
    assert store.ask("quokka", indexed, tools=True).sessions[0].hits[0].role == "toolResult"


def test_answers_are_found_by_the_role_that_hits_of_tool_calls_carry(store, indexed):
    store.add("one", user("1", None, "make lint"), answer("2", "1", "ok", command="make lint"))
    store.add("two", user("3", None, "go"), answer("4", "3", "Run make lint yourself."))
    (found,) = store.ask("lint role:toolCall", indexed).sessions
    assert [(hit.entry_id, hit.role) for hit in found.hits] == [("2", "toolCall")]


def test_where_many_sessions_match_the_rest_is_counted(store, monkeypatch):
    if engine(Path()) is None:
        pytest.skip("without the search engine all sessions are read")
    monkeypatch.setattr(ranking_module, "FIRST_ENTRIES", 5)
    for number in range(12):
        store.add(f"s{number}", user("1", None, f"lantern number {number}"))
    found = store.ask("lantern", True, sessions=3)
    assert len(found.sessions) == 3
    assert found.unread == 7
    monkeypatch.setattr(ranking_module, "FIRST_ENTRIES", 12)
    assert store.ask("lantern", True, sessions=12).unread == 0


def test_every_exact_match_is_found_and_no_other(store, indexed):
    dice = random.Random(5)
    words = ["login", "logins", "Straße", "foo_bar", "foo", "été", "日本", "x1", "timeout"]
    said: dict[str, list[str]] = {}
    for number in range(25):
        name = f"s{number}"
        said[name] = [" ".join(dice.choices(words, k=dice.randint(1, 4))) for _ in range(4)]
        store.add(name, *[user(f"{at}", f"{at - 1}" if at else None, text) for at, text in enumerate(said[name])])
    for _ in range(20):
        query = " ".join(dice.sample(words, dice.randint(1, 3)))
        wanted = set(words_of(query))
        expected = {name for name, all_texts in said.items() if any(wanted <= set(words_of(t)) for t in all_texts)}
        if "日本" not in query:
            found = store.ask(query, indexed, sessions=100)
            # The same text in two sessions stands in one of them, so texts are compared, not sessions.
            exact = {each.summary.id for each in found.sessions if each.match == "exact"}
            assert exact <= expected
            lost = expected - exact
            kept = {text for name in exact for text in said[name]}
            assert all(any(wanted <= set(words_of(t)) and t in kept for t in said[name]) for name in lost)


def grow_in_any_order(here: Path, indexed: Callable[[], None], dice: random.Random) -> None:
    """Index sessions that begin with one entry and get the others in any order, a few at once."""
    lines = {path: path.read_bytes().splitlines(keepends=True) for path in sorted(here.glob("*.jsonl"))}
    steps = [path for path, own in lines.items() for _ in own[2:]]
    dice.shuffle(steps)
    for path, own in lines.items():
        path.write_bytes(b"".join(own[:2]))
        del own[:2]
    for number, path in enumerate(steps):
        if number % 4 == 0:
            indexed()
        with path.open("ab") as file:
            file.write(lines[path].pop(0))


@pytest.mark.slow
def test_the_first_sessions_depend_neither_on_the_limit_nor_on_the_directories(tmp_path, monkeypatch):
    dice = random.Random(9)
    stems = [f"{first}{second}" for first in ("lamp", "port") for second in ("et", "ora", "ist", "um")]
    words = [f"{stem}{ending}" for stem in stems for ending in ("", "s", "Box")]
    store = Store(tmp_path / "store")
    for number in range(250):
        entries = [" ".join(dice.choices(words, k=dice.choice((1, 2, 2, 5, 9)))) for _ in range(dice.randint(1, 5))]
        said = [user(f"{at}", f"{at - 1}" if at else None, text) for at, text in enumerate(entries)]
        store.add(f"s{number}", *said, cwd=f"/home/dev/{dice.choice('ab')}")
    scope = scope_of(tmp_path / "store")
    searchers = []
    for name in ("one", "several", "backwards", "grown"):
        index = open_index(tmp_path / name, pytest.fail, create=True)
        assert index is not None
        if name == "backwards":
            for file in sorted(gather(scope).files.values(), key=lambda file: file.path, reverse=True):
                index.update([file])
        elif name == "grown":
            grow_in_any_order(store.here, partial(update_index, scope, index), dice)
        with monkeypatch.context() as patch:
            if name == "several":
                patch.setattr("sessionbrowse.store.index.index.BULK_BYTES", 1)
                patch.setattr("sessionbrowse.store.index.writer.workers_for", lambda total: 3)
                patch.setattr("sessionbrowse.store.index.writer.COMMIT_SECONDS", 0.0)
                patch.setattr("sessionbrowse.store.read.worker_processes.CHUNK_BYTES", 500)
            update_index(scope, index, processes=True)
        searchers.append(Searcher(take_snapshot(scope, index), index))
    for _ in range(15):
        query = parse_question(" ".join(dice.sample(words, dice.randint(1, 3))))
        ranked = [Ranker(searcher, query, now_ms=NOW).rank(50) for searcher in searchers]
        found = [[(each.summary.id, each.match) for each in ranking.sessions] for ranking in ranked]
        assert found[0] == found[1] == found[2] == found[3], query
        (few, first) = (Ranker(searchers[0], query, now_ms=NOW).rank(limit).sessions for limit in (10, 1000))
        assert [each.summary.id for each in few] == [each[0] for each in found[0][:10]], query
        assert first[0].summary.id == found[0][0][0], query


def test_words_apart_in_a_session_are_found_beside_many_sessions_with_one_of_them(store):
    for number in range(150):
        word = ("lantern", "quokka", "harbour")[number % 3]
        store.add(f"noise{number}", *[user(f"{at}", None, f"{word} {word} {at}") for at in range(3)])
    apart = [user("1", None, "a lantern, it seems, and more"), answer("2", "1", f"the quokka {'and so on ' * 40}")]
    store.add("apart", *apart, answer("3", "2", "in the harbour"))
    found = store.ask("lantern quokka harbour", True)
    assert shown(found)[0] == ("apart", "session")


@pytest.mark.parametrize("said", ["the mdLinkUrl theme", "the md-link-url theme", "an md_link_url", "md link url"])
@pytest.mark.parametrize("query", ["mdLinkUrl", "md-link-url", "md_link_url", "md link url", "mdLinkUlr"])
def test_an_identifier_is_found_whatever_its_separators_in_text_and_in_calls(store, indexed, said, query):
    if query == "mdLinkUlr" and said != "the mdLinkUrl theme":
        pytest.skip("the letters stand in a part of three letters")
    store.add("said", user("1", None, said))
    store.add("done", user("1", None, "go"), answer("2", "1", "ok", command=f"edit src/{said.split()[-2]}.ts"))
    store.add("other", user("1", None, "a link"))
    found = [each for each, _ in shown(store.ask(query, indexed))]
    assert found[0] == "said"


def test_what_was_said_comes_before_what_was_done_and_a_hit_says_so(store, indexed):
    store.add("done", user("1", None, "go on"), answer("2", "1", "ok", command="cat src/lantern.py"))
    store.add("said", answer("1", None, "the lantern module"))
    found = store.ask("lantern", indexed)
    assert [(each.summary.id, each.hits[0].role) for each in found.sessions] == [
        ("said", "assistant"),
        ("done", "toolCall"),
    ]


def test_an_excluded_word_and_a_word_that_is_nowhere(store, indexed):
    store.add("one", user("1", None, "the lantern of the harbour"))
    store.add("two", user("1", None, "the lantern of the quay"))
    assert [each for each, _ in shown(store.ask("lantern -harbour", indexed))] == ["two"]
    found = store.ask("lantern zyxwvu", indexed)
    assert found.nowhere == ("zyxwvu",)
    assert all(each.missing == ("zyxwvu",) for each in found.sessions)


def test_a_filter_that_fits_no_session_suggests_a_value(store):
    store.add(
        "one", user("1", None, "the lantern"), entry("session_info", "2", "1", name="Lamps"), cwd="/home/dev/webshop"
    )
    searcher = Searcher(take_snapshot(scope_of(store.root), None))
    sentences = searcher.unmatched(parse_question("lantern project:webshp name:lamps label:x"))
    assert sentences == ["project:webshp fits no session. Did you mean webshop?", "label:x fits no session."]


def test_a_misspelt_model_or_tool_in_a_filter_suggests_one(store):
    store.add("one", user("1", None, "a lamp"), answer("2", "1", "the lantern"))
    searcher = Searcher(take_snapshot(scope_of(store.root), None))
    assert searcher.unmatched(parse_question("lantern model:sonet tool:bsah")) == [
        "No entry fits model:sonet. Did you mean sonnet?",
        "No entry fits tool:bsah. Did you mean bash?",
    ]
    assert searcher.unmatched(parse_question("model:sonnet tool:bash tool:my_own")) == []


def test_a_mistyped_word_that_others_use_is_taken_for_its_neighbour_where_all_words_stand(store, indexed):
    store.add("wanted", user("1", None, "the samesite cookie was dropped in a redirect"))
    store.add("other", user("1", None, "a cokie"), user("2", "1", "one redirect"))
    assert shown(store.ask("samesite cokie redirect", indexed))[0] == ("wanted", "forms")


@pytest.mark.parametrize("asked", ["VLLM_SEVER_DEV_MODE", "vllmSeverDevMode"])
def test_one_wrong_letter_in_a_part_of_an_identifier_is_corrected(store, asked, indexed):
    store.add("wanted", user("1", None, "export VLLM_SERVER_DEV_MODE=1 before the start"))
    store.add("other", user("1", None, "sever the line of the dev server"))
    assert shown(store.ask(asked, indexed))[0][0] == "wanted"


@pytest.mark.parametrize("asked", ["VLLM_SEVER_DEV_MODE", "vllmSeverDevMode"])
def test_a_corrected_identifier_is_found_in_each_spelling(store, asked, indexed):
    store.add("wanted", user("1", None, "set vllmServerDevMode before the start"))
    store.add("other", user("1", None, "the vllm dev server"), user("2", "1", "sever the line in dev mode, not vllm"))
    assert shown(store.ask(asked, indexed))[0][0] == "wanted"


@pytest.mark.parametrize("asked", ["node_local_dns", "nodeLocalDns"])
def test_an_identifier_that_stands_nowhere_is_searched_by_its_parts_and_that_is_said(store, asked, indexed):
    store.add("wanted", user("1", None, "the dns of each node has a cache that is local"))
    store.add("other", user("1", None, "a local cache"), user("2", "1", "the node is down"))
    found = store.ask(asked, indexed)
    assert shown(found)[0] == ("wanted", "exact")
    assert found.nowhere == (asked.lower(),)


def test_an_identifier_is_not_taken_apart_where_another_word_is_found(store, indexed):
    store.add("wanted", user("1", None, "the trainer stands still"))
    store.add("other", user("1", None, "dns of a local node"))
    found = store.ask("node_local_dns trainer", indexed)
    assert shown(found) == [("wanted", "some")]
    assert found.sessions[0].missing == ("node_local_dns",)
