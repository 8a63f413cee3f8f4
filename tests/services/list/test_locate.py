"""A session is found by its path, its id, or the beginning of its id, as the user knows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessionbrowse.agents import Surroundings
from sessionbrowse.cli import main
from sessionbrowse.errors import AmbiguousReference, NoSuchSession
from sessionbrowse.services.list.locate import header_id, header_of, locate, looks_like_path
from sessionbrowse.store.find.roots import Scope
from tests.support.session_files import header, line, slot, user, written

NODE = {"schema": "indus/transcript@1", "kind": "entry", "id": "1", "prev": None, "role": "user", "at": "t"}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions" / "--home-dev--"
    folder.mkdir(parents=True)
    for name in ("abc-1", "abc-2", "ABD-1", "xyz"):
        written(folder, header(id=name), user("a", None), name=f"2026_{name}.jsonl")
    written(folder, slot(), header(id="omp-1"), name="other name.jsonl")
    written(folder, line(NODE), name="s_1_node.ndjson")
    (folder / "2026_xyz").mkdir()
    written(folder / "2026_xyz", header(id="nested-1"), name="Scout.jsonl")
    return tmp_path / "sessions"


def put(folder: Path, *lines: bytes, name: str) -> Path:
    """Write a session into a folder that is made if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    return written(folder, *lines, name=name)


@pytest.fixture
def scope(store: Path) -> Scope:
    around = Surroundings(home=str(store.parent), environ={}, cwd=str(store))
    return Scope(around=around, roots=(str(store),))


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("abc-1", "2026_abc-1.jsonl"),
        ("abd", "2026_ABD-1.jsonl"),
        ("ABC-2", "2026_abc-2.jsonl"),
        ("x", "2026_xyz.jsonl"),
        ("omp", "other name.jsonl"),
        ("s_1", "s_1_node.ndjson"),
        ("nested", "Scout.jsonl"),
    ],
)
def test_an_id_or_its_beginning_names_a_session_in_any_case(scope: Scope, reference: str, name: str):
    assert Path(locate(reference, scope).path).name == name


def test_an_exact_id_goes_before_longer_ones_that_begin_so(store: Path, scope: Scope):
    written(store / "--home-dev--", header(id="abc"), name="short.jsonl")
    assert Path(locate("abc", scope).path).name == "short.jsonl"


def test_a_reference_that_matches_several_sessions_names_them(store: Path, scope: Scope):
    with pytest.raises(AmbiguousReference, match="'abc-' matches 2 sessions") as raised:
        locate("abc-", scope)
    assert {Path(path).name for path in raised.value.candidates} == {"2026_abc-1.jsonl", "2026_abc-2.jsonl"}


def named(store: Path, name: str, session_id: str, message: str = "2026-11-20T08:00:00.000Z") -> Path:
    lines = header(id=session_id), line(QUESTION | {"timestamp": message}), line(INFO | {"name": name})
    return written(store / "--home-dev--", *lines, name=f"{session_id}.jsonl")


QUESTION = {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "hello"}}
INFO = {"type": "session_info", "id": "b", "parentId": "a", "timestamp": "2026-11-20T08:00:00.000Z"}


def test_an_exact_name_names_a_session_after_a_whole_id_and_before_the_beginning_of_one(store: Path, scope: Scope):
    path = named(store, "port to uv", "n-1")
    assert locate("port to uv", scope).path == str(path)
    assert locate("Port to", scope).by_beginning
    with pytest.raises(NoSuchSession):
        locate("to uv", scope)
    beginning = named(store, "abc", "n-2")
    assert locate("abc", scope).path == str(beginning)
    whole = named(store, "n-2", "n-3")
    assert locate("n-2", scope).path == str(beginning) != str(whole)


def test_a_name_with_control_characters_is_found_as_stored_and_as_a_list_shows_it(store: Path, scope: Scope):
    path = named(store, "mend \x1b]8;;http:e\x07the\x1b]8;;\x07 sink", "own-2")
    for typed in ("mend the sink", "Mend the", "mend \x1b]8;;http:e\x07the\x1b]8;;\x07 sink"):
        assert locate(typed, scope).path == str(path)


def test_a_name_with_several_blanks_is_found_with_one_as_a_screen_shows_it(store: Path, scope: Scope):
    path = named(store, "mend  the\tsink", "own-3")
    for typed in ("mend the sink", "Mend the s", "mend  the\tsink"):
        assert locate(typed, scope).path == str(path)


def test_several_sessions_of_one_name_are_named(store: Path, scope: Scope):
    both = {str(named(store, "same", "n-1")), str(named(store, "same", "n-2"))}
    with pytest.raises(AmbiguousReference) as raised:
        locate("same", scope)
    assert set(raised.value.candidates) == both


def test_latest_is_the_first_session_of_the_list(store: Path, scope: Scope, capsys: pytest.CaptureFixture[str]):
    named(store, "newest", "n-1", "2099-01-01T00:00:00.000Z")
    assert main(["list", "--json", "--limit", "1", "--root", str(store)]) == 0
    assert locate("latest", scope).path == json.loads(capsys.readouterr().out)[0]["path"]


def test_the_command_line_lists_what_matches_with_id_age_and_title(store: Path, capsys: pytest.CaptureFixture[str]):
    named(store, "one of many", "many-x")
    for number in range(30):
        written(store / "--home-dev--", header(id=f"many-{number}"), name=f"many{number}.jsonl")
    assert main(["show", "many", "--root", str(store)]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "sessionbrowse: 'many' matches 31 sessions; give more of the id:"
    assert len(said) == 12
    assert said[-1] == "  and 21 more"
    assert main(["show", "many-x", "--root", str(store)]) == 0


@pytest.mark.parametrize(
    ("reference", "wanted"),
    [
        ("twin-1", "give the path, as they have the same id"),
        ("TWIN-1", "give the path, as they have the same id"),
        ("twin", "give more of the id, or the path where ids are the same"),
        ("twins", "give the path, as they have the same id"),
        ("other", "give the id"),
        ("abc", "give more of the id"),
    ],
)
def test_the_way_on_is_one_that_can_be_gone(
    store: Path, scope: Scope, capsys: pytest.CaptureFixture[str], reference: str, wanted: str
):
    """Ids that are equal cannot be told apart by more of the id, at any command that takes a session."""
    for name in ("a", "b"):
        named(store, "twins", "twin-1").rename(store / "--home-dev--" / f"{name}.jsonl")
    for number in (2, 3):
        named(store, "other", f"twin-{number}")
    with pytest.raises(AmbiguousReference) as raised:
        locate(reference, scope)
    assert raised.value.sentence.endswith(f" sessions; {wanted}")
    for words in (
        ["show", reference],
        ["resume", reference, "--print"],
        ["delete", reference],
        ["doctor", reference],
        ["export", reference, "--format", "json"],
        ["fork", reference],
        ["shrink", reference, "--images", "--in-place"],
    ):
        assert main([*words, "--root", str(store)]) == 1
        assert f"; {wanted}:\n  " in capsys.readouterr().err, words
    for path in raised.value.candidates:
        assert locate(path, scope).path == path


def test_the_latest_session_is_not_deleted_without_a_yes(store: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["delete", "latest", "--root", str(store)]) == 1
    assert "give the session's id, or add --yes" in capsys.readouterr().err


@pytest.mark.parametrize("reference", ["nothing", "", "abc-12", "é"])
def test_what_fits_nothing_is_said(scope: Scope, reference: str):
    with pytest.raises(NoSuchSession):
        locate(reference, scope)


def test_a_path_is_one_by_its_separator_or_suffix_and_need_not_lie_in_the_store(
    store: Path, scope: Scope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert [looks_like_path(text) for text in ("a/b", "x.jsonl", "x.ndjson", "x", "x.json")] == [True] * 3 + [False] * 2
    elsewhere = written(tmp_path, header(id="e"), name="elsewhere.jsonl")
    located = locate(str(elsewhere), scope)
    assert (located.path, located.agent, located.place) == (str(elsewhere), "pi", None)
    monkeypatch.chdir(tmp_path)
    assert locate("elsewhere.jsonl", scope).path == str(elsewhere)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert locate("~/elsewhere.jsonl", scope).path == str(elsewhere)
    with pytest.raises(NoSuchSession, match=r"There is no file .*gone\.jsonl"):
        locate("gone.jsonl", scope)
    inside = locate(str(store / "--home-dev--" / "2026_xyz.jsonl"), scope)
    assert inside.place is not None
    assert inside.place.root == str(store)


@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
def test_the_agent_that_the_user_names_counts_only_where_neither_place_nor_marks_tell(
    store: Path, tmp_path: Path, agent: str
):
    around = Surroundings(home=str(store.parent), environ={}, cwd=str(store))
    plain = put(tmp_path / "backup", header(id="plain"), name="plain.jsonl")
    marked = put(tmp_path / "backup", slot() + header(id="marked"), name="marked.jsonl")
    named = Scope(around=around, roots=(str(tmp_path / "backup"),), agents=(agent,))
    assert [locate(ref, named).agent for ref in ("plain", str(plain))] == [agent, agent]
    own = put(tmp_path / ".atomic/agent/sessions/--p--", header(id="own"), name="own.jsonl")
    for reference, owner in (("marked", "omp"), (str(marked), "omp"), (str(own), "atomic")):
        if agent == owner:
            assert locate(reference, named).agent == owner
        else:
            with pytest.raises(
                NoSuchSession, match=f"is a session of {owner}, which the option --agent {agent} leaves out"
            ):
                locate(reference, named)


def test_a_session_in_the_place_of_an_agent_that_is_left_out_is_refused_by_id_and_path(tmp_path: Path):
    around = Surroundings(home=str(tmp_path), environ={"PI_CODING_AGENT_DIR": str(tmp_path / "x")}, cwd=str(tmp_path))
    shared = put(tmp_path / "x/sessions/--p--", header(id="shared"), name="shared.jsonl")
    for agent in ("pi", "omp", "atomic"):
        assert locate("shared", Scope(around=around, agents=(agent,))).agent == agent
    for reference in ("shared", str(shared)):
        with pytest.raises(NoSuchSession, match="is a session of pi, which the option --agent indusagi leaves out"):
            locate(reference, Scope(around=around, agents=("indusagi",)))


def test_of_sessions_that_begin_alike_the_one_of_the_named_agent_is_meant(tmp_path: Path):
    around = Surroundings(home=str(tmp_path), environ={}, cwd=str(tmp_path))
    info = line(INFO | {"name": "Port to uv"})
    put(tmp_path / "backup", header(id="abc-1"), line({"type": "session_summary"}), info, name="1.jsonl")
    put(tmp_path / "backup", slot("Port to rust") + header(id="abc-2"), name="2.jsonl")
    scope = Scope(around=around, roots=(str(tmp_path / "backup"),), agents=("omp",))
    for reference, is_name in (("abc", False), ("port", True)):
        found = locate(reference, scope)
        assert found.path.endswith("2.jsonl")
        assert found.by_beginning == is_name


HEADERS: list[tuple[str, bytes]] = [
    ("first", header(id="x")),
    ("behind a slot", slot() + header(id="x")),
    ("behind junk", b"junk\n\n" + header(id="x")),
    ("with a byte order mark", b"\xef\xbb\xbf" + header(id="x")),
    ("with CRLF", header(id="x")[:-1] + b"\r\n" + user("a", None)),
    ("with lone CR", (header(id="x") + user("a", None)).replace(b"\n", b"\r")),
    ("of two the first", header(id="x") + header(id="y")),
    ("behind an entry that quotes one", user("a", None, header(id="q").decode()) + header(id="x")),
    ("without final newline", header(id="x")[:-1]),
    ("of version 1 with a long prompt", header(None, id="x", systemPrompt="p" * 200_000)),
    ("behind a long line", user("a", None, "y" * 200_000) + header(id="x")),
]


@pytest.mark.parametrize("content", [row[1] for row in HEADERS], ids=[row[0] for row in HEADERS])
def test_the_header_is_found_in_the_files_beginning(tmp_path: Path, content: bytes):
    assert header_id(str(written(tmp_path, content))) == "x"


@pytest.mark.parametrize("content", [b"", b"junk", user("a", None), header(id=5), b"\0" * 1000, b'"session"'])
def test_a_file_without_header_has_no_id(tmp_path: Path, content: bytes):
    path = str(written(tmp_path, content))
    assert header_id(path) is None
    assert header_id(path + "gone") is None
    assert header_of(str(tmp_path)).id is None
