"""Where each program keeps its sessions by its own rules: variables, profiles, settings, folders."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sessionbrowse.agents import (
    AGENTS,
    ATOMIC,
    INDUSAGI,
    OMP,
    PI,
    Marks,
    Place,
    Surroundings,
    attribute,
)
from sessionbrowse.agents.base import Agent, marks_of_head
from sessionbrowse.agents.indusagi import slug_of
from sessionbrowse.agents.omp import expand_env, layered, parse_env


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


def surroundings(home: Path, here: Path, *projects: Path, **environ: str) -> Surroundings:
    return Surroundings(
        home=str(home),
        environ=environ,
        cwd=str(here),
        tmpdir=str(home.parent / "tmp"),
        projects=tuple(map(str, projects)),
    )


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def roots(places: list[Place], kind: str = "projects") -> list[str]:
    return [place.root for place in places if place.kind == kind]


# ---- pi ----------------------------------------------------------------------------------------------------


def test_pi_keeps_sessions_below_its_agent_directory_and_needs_no_variable_for_it(home: Path, here: Path):
    (place,) = PI.places(surroundings(home, here))
    assert place == Place("pi", f"{home}/.pi/agent/sessions", "projects", "default", {}, f"{home}/.pi/agent")


@pytest.mark.parametrize(
    ("value", "directory"),
    [
        ("/x", "/x"),
        ("/x/../y/", "/y"),
        ("~", "{home}"),
        ("~/p", "{home}/p"),
        ("~other/p", "{here}/~other/p"),
        ("a/~", "{here}/a/~"),
        ("rel", "{here}/rel"),
        ("", "{home}/.pi/agent"),
        ("file:///x%20y", "/x y"),
        ("file://server/x", "{home}/.pi/agent"),
    ],
)
def test_pi_expands_only_a_leading_tilde_and_takes_an_empty_variable_for_none(
    home: Path, here: Path, value: str, directory: str
):
    (place,) = PI.places(surroundings(home, here, PI_CODING_AGENT_DIR=value))
    assert place.agent_dir == directory.format(home=home, here=here)
    assert place.root == f"{place.agent_dir}/sessions"


def test_a_store_found_by_a_variable_carries_it_absolute_because_the_agent_starts_elsewhere(home: Path, here: Path):
    (place,) = PI.places(surroundings(home, here, PI_CODING_AGENT_DIR="rel"))
    assert (place.source, place.env) == ("PI_CODING_AGENT_DIR", {"PI_CODING_AGENT_DIR": f"{here}/rel"})


def test_pis_session_directory_variable_is_a_flat_place_beside_the_default(home: Path, here: Path):
    places = PI.places(surroundings(home, here, PI_CODING_AGENT_SESSION_DIR="~/flat"))
    assert roots(places, "flat") == [f"{home}/flat"]
    assert places[1].env == {"PI_CODING_AGENT_SESSION_DIR": f"{home}/flat"}
    assert roots(places) == [f"{home}/.pi/agent/sessions"]


def test_the_settings_of_a_project_override_the_global_ones_and_null_means_the_default(
    home: Path, here: Path, tmp_path: Path
):
    write(home / ".pi/agent/settings.json", "\ufeff" + json.dumps({"sessionDir": "/global"}))
    own, null, other = tmp_path / "own", tmp_path / "null", tmp_path / "other"
    write(own / ".pi/settings.json", {"sessionDir": "kept"})
    write(null / ".pi/settings.json", {"sessionDir": None})
    write(other / ".pi/settings.json", "{broken")
    places = PI.places(surroundings(home, here, own, null, other))
    assert [(place.root, place.source) for place in places if place.kind == "flat"] == [
        ("/global", "settings sessionDir"),
        (f"{own}/kept", f"settings sessionDir of {own}"),
    ]


def test_a_relative_session_directory_lies_below_every_directory_pi_was_started_in(
    home: Path, here: Path, tmp_path: Path
):
    write(home / ".pi/agent/settings.json", {"sessionDir": ".sessions"})
    places = PI.places(surroundings(home, here, tmp_path / "a", tmp_path / "b"))
    assert roots(places, "flat") == [
        f"{here}/.sessions",
        f"{tmp_path}/a/.sessions",
        f"{tmp_path}/b/.sessions",
    ]


@pytest.mark.parametrize("settings", [[], "text", {"sessionDir": 7}, {"sessionDir": ""}, {"other": 1}])
def test_settings_that_name_no_directory_add_no_place(home: Path, here: Path, settings: object):
    write(home / ".pi/agent/settings.json", settings)
    assert roots(PI.places(surroundings(home, here)), "flat") == []


@pytest.mark.parametrize(
    ("cwd", "folder"),
    [
        ("/home/u/my proj", "--home-u-my proj--"),
        ("/", "----"),
        ("/a:b/c\\d", "--a-b-c-d--"),
        ("/a/b-c/d", "--a-b-c-d--"),
        ("/a/b/c/d/", "--a-b-c-d--"),
        ("/a/x/../b", "--a-b--"),
        ("//a", "--a--"),
    ],
)
def test_pi_and_atomic_name_a_projects_folder_by_its_text(home: Path, here: Path, cwd: str, folder: str):
    around = surroundings(home, here)
    assert PI.folder_of(cwd, around) == ATOMIC.folder_of(cwd, around) == folder
    assert all(AGENTS[name].owns_folder_form(folder) for name in ("pi", "omp", "atomic", "indusagi"))


# ---- omp ---------------------------------------------------------------------------------------------------

# What omp 18.2.3 itself answers (its own path functions, run with these environments).
OMP_ROOTS: list[tuple[dict[str, str], str]] = [
    ({}, "{home}/.omp/agent/sessions"),
    ({"PI_CODING_AGENT_DIR": "/x"}, "/x/sessions"),
    ({"PI_CODING_AGENT_DIR": "rel"}, "{here}/rel/sessions"),
    ({"PI_CODING_AGENT_DIR": "~/x"}, "{here}/~/x/sessions"),
    ({"PI_CODING_AGENT_DIR": ""}, "{home}/.omp/agent/sessions"),
    ({"OMP_CODING_AGENT_DIR": "/x"}, "{home}/.omp/agent/sessions"),
    ({"PI_CONFIG_DIR": ".foo"}, "{home}/.foo/agent/sessions"),
    ({"PI_CONFIG_DIR": "/abs/foo"}, "{home}/abs/foo/agent/sessions"),
    ({"XDG_DATA_HOME": "{data}"}, "{data}/omp/sessions"),
    ({"XDG_DATA_HOME": "/none"}, "{home}/.omp/agent/sessions"),
    ({"XDG_DATA_HOME": "{data}", "PI_CODING_AGENT_DIR": "/x"}, "/x/sessions"),
    ({"XDG_DATA_HOME": "{data}", "PI_CODING_AGENT_DIR": "{home}/.omp/agent"}, "{data}/omp/sessions"),
    ({"OMP_PROFILE": "work"}, "{home}/.omp/profiles/work/agent/sessions"),
    ({"PI_PROFILE": "work"}, "{home}/.omp/profiles/work/agent/sessions"),
    ({"OMP_PROFILE": "work", "PI_CODING_AGENT_DIR": "/x"}, "{home}/.omp/profiles/work/agent/sessions"),
    ({"OMP_PROFILE": "work", "XDG_DATA_HOME": "{data}"}, "{data}/omp/profiles/work/sessions"),
    ({"OMP_PROFILE": "play", "XDG_DATA_HOME": "{data}"}, "{home}/.omp/profiles/play/agent/sessions"),
    ({"OMP_PROFILE": "", "PI_PROFILE": "work"}, "{home}/.omp/agent/sessions"),
    (
        {
            "OMP_PROFILE": "",
            "PI_PROFILE": "work",
            "PI_CODING_AGENT_DIR": "{home}/.omp/profiles/work/agent",
        },
        "{home}/.omp/agent/sessions",
    ),
    ({"OMP_PROFILE": " work "}, "{home}/.omp/profiles/work/agent/sessions"),
    ({"OMP_PROFILE": "default"}, "{home}/.omp/agent/sessions"),
    ({"OMP_PROFILE": "Not Valid"}, "{home}/.omp/agent/sessions"),
    ({"OMP_PROFILE": "con"}, "{home}/.omp/agent/sessions"),
    ({"OMP_PROFILE": "a."}, "{home}/.omp/agent/sessions"),
]


@pytest.mark.parametrize(("environ", "root"), OMP_ROOTS)
def test_omp_looks_first_where_its_own_code_looks(
    home: Path, here: Path, tmp_path: Path, environ: dict[str, str], root: str
):
    data = tmp_path / "data"
    (data / "omp/profiles/work").mkdir(parents=True)
    names = {"home": home, "here": here, "data": data}
    given = {name: value.format(**names) for name, value in environ.items()}
    assert OMP.places(surroundings(home, here, **given))[0].root == root.format(**names)


def test_omp_ignores_xdg_where_it_does_not_apply(home: Path, here: Path, tmp_path: Path):
    (tmp_path / "omp").mkdir()
    around = Surroundings(home=str(home), environ={"XDG_DATA_HOME": str(tmp_path)}, cwd=str(here), platform="win32")
    assert roots(OMP.places(around)) == [f"{home}/.omp/agent/sessions"]


@pytest.mark.parametrize(
    ("files", "root"),
    [
        ({"here/.env": "PI_CODING_AGENT_DIR=/cwd", "home/.env": "PI_CODING_AGENT_DIR=/home"}, "/cwd"),
        (
            {"home/.omp/agent/.env": "OMP_CODING_AGENT_DIR=/a", "home/.omp/.env": "PI_CODING_AGENT_DIR=/r"},
            "/a",
        ),
        ({"home/.omp/.env": "PI_CODING_AGENT_DIR=/r", "home/.env": "PI_CODING_AGENT_DIR=/h"}, "/r"),
        ({"here/.env": "A=/q\nexport PI_CODING_AGENT_DIR = ${A}/x # here"}, "/q/x"),
        ({"home/.env": "PI_CODING_AGENT_DIR='/z/$A'"}, "/z/$A"),
    ],
)
def test_omps_env_files_move_its_root_and_the_nearest_wins(
    home: Path, here: Path, tmp_path: Path, files: dict[str, str], root: str
):
    for name, content in files.items():
        write(tmp_path / name, content)
    assert OMP.places(surroundings(home, here))[0].agent_dir == root
    real = surroundings(home, here, PI_CODING_AGENT_DIR="/real")
    assert OMP.places(real)[0].agent_dir == "/real"


def test_omp_reads_its_profile_before_its_env_files(home: Path, here: Path):
    write(home / ".env", "OMP_PROFILE=work")
    assert OMP.places(surroundings(home, here))[0].root == f"{home}/.omp/agent/sessions"


def test_every_profile_of_omp_is_looked_at_with_what_leads_omp_there(home: Path, here: Path, tmp_path: Path):
    for folder in ("home/.omp/profiles/work", "home/.omp/profiles/Not Valid", "data/omp/profiles/xdg"):
        (tmp_path / folder).mkdir(parents=True)
    around = surroundings(
        home, here, OMP_PROFILE="play", PI_CODING_AGENT_DIR="/x", XDG_DATA_HOME=str(tmp_path / "data")
    )
    found = {place.root: place.env for place in OMP.places(around) if place.kind == "projects"}
    data = f"{tmp_path}/data"
    assert found == {
        f"{home}/.omp/profiles/play/agent/sessions": {"OMP_PROFILE": "play"},
        "/x/sessions": {"OMP_PROFILE": "", "PI_CODING_AGENT_DIR": "/x"},
        f"{data}/omp/sessions": {
            "OMP_PROFILE": "",
            "PI_CODING_AGENT_DIR": f"{home}/.omp/agent",
            "XDG_DATA_HOME": data,
        },
        f"{home}/.omp/agent/sessions": {
            "OMP_PROFILE": "",
            "PI_CODING_AGENT_DIR": f"{home}/.omp/agent",
            "XDG_DATA_HOME": "",
        },
        f"{home}/.omp/profiles/work/agent/sessions": {"OMP_PROFILE": "work"},
        f"{data}/omp/profiles/xdg/sessions": {"OMP_PROFILE": "xdg", "XDG_DATA_HOME": data},
        f"{home}/.omp/profiles/xdg/agent/sessions": {"OMP_PROFILE": "xdg", "XDG_DATA_HOME": ""},
    }


def test_omps_register_archive_and_images_lie_beside_its_sessions(home: Path, here: Path, tmp_path: Path):
    (tmp_path / "state/omp").mkdir(parents=True)
    places = OMP.places(surroundings(home, here, XDG_STATE_HOME=str(tmp_path / "state")))
    assert roots(places, "registry")[0] == f"{tmp_path}/state/omp/custom-session-files"
    assert roots(places, "archive") == [f"{home}/.omp/agent/archive/sessions"]
    assert places[0].blobs == f"{home}/.omp/agent/blobs"


def test_omps_flat_directory_keeps_a_tilde(home: Path, here: Path):
    places = OMP.places(surroundings(home, here, PI_CODING_AGENT_SESSION_DIR="~/flat"))
    assert roots(places, "flat") == [f"{here}/~/flat"]


def test_omp_names_folders_by_the_real_path_below_home_below_tmp_or_elsewhere(home: Path, here: Path, tmp_path: Path):
    around = surroundings(home, here)
    for folder in ("home/proj/a b", "home/..x", "tmp/x y", "srv"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "link").symlink_to(home / "proj")
    elsewhere = str(tmp_path).replace("/", "-")
    names = {
        str(home): "-",
        f"{home}/proj/a b": "-proj-a b",
        f"{home}/gone/e:f": "-gone-e-f",
        f"{home}/..x": f"-{elsewhere}-home-..x--",
        f"{tmp_path}/tmp": "-tmp",
        f"{tmp_path}/tmp/x y": "-tmp-x y",
        f"{tmp_path}/srv": f"-{elsewhere}-srv--",
        f"{tmp_path}/link": "-proj",
        "/": "----",
    }
    assert {cwd: OMP.folder_of(cwd, around) for cwd in names} == names
    assert all(OMP.owns_folder_form(name) for name in names.values())
    assert OMP.owns_folder_form("home-app-" + "0" * 64)
    assert not PI.owns_folder_form("-proj")


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=1", "1"),
        ("export A = two words # comment", "two words"),
        ('A="q # \\n x" # y', "q # \n x"),
        ("A='single $B'", "single $B"),
        ("A=`tick`", "tick"),
        ("A=", ""),
        ('A="two\nlines"', "two\nlines"),
        ("A=a#b", "a"),
        ("  A = x", "x"),
        ("A=x\r\nB=y", "x"),
        ("B=1\nA=2\nA=3", "3"),
        ("not a line\nA=1", "1"),
    ],
)
def test_env_files_are_read_as_node_reads_them(line: str, value: str):
    assert parse_env(line.encode())["A"] == value


def test_in_an_env_file_omp_names_stand_for_pi_names_and_an_empty_value_counts_as_none():
    assert parse_env(b"OMP_X=1\nPI_X=2") == {"OMP_X": "1", "PI_X": "1"}
    assert layered({"A": "", "B": "real"}, [{"A": "1", "B": "2"}, {"A": "3", "C": "4"}]) == {
        "A": "1",
        "B": "real",
        "C": "4",
    }
    assert expand_env({"A": "a", "B": "$A-${H}-\\$A-$NONE"}, {"H": "h"}) == {"A": "a", "B": "a-h-$A-"}


# ---- atomic ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "directory", "source"),
    [
        ({}, "{home}/.atomic/agent", "default"),
        ({"PI_CODING_AGENT_DIR": "/pi"}, "/pi", "PI_CODING_AGENT_DIR"),
        (
            {"ATOMIC_CODING_AGENT_DIR": "~/a", "PI_CODING_AGENT_DIR": "/pi"},
            "{home}/a",
            "ATOMIC_CODING_AGENT_DIR",
        ),
        ({"ATOMIC_CODING_AGENT_DIR": "", "PI_CODING_AGENT_DIR": "/pi"}, "{home}/.atomic/agent", "default"),
        ({"HOME": "/other"}, "/other/.atomic/agent", "default"),
    ],
)
def test_atomic_takes_the_first_variable_that_is_defined_even_if_it_is_empty(
    home: Path, here: Path, environ: dict[str, str], directory: str, source: str
):
    place = ATOMIC.places(surroundings(home, here, **environ))[0]
    assert (place.root, place.source) == (f"{directory.format(home=home)}/sessions", source)


@pytest.mark.parametrize(
    ("environ", "flat"),
    [
        ({"PI_CODING_AGENT_SESSION_DIR": "/p"}, ["/p"]),
        ({"ATOMIC_CODING_AGENT_SESSION_DIR": "/a", "PI_CODING_AGENT_SESSION_DIR": "/p"}, ["/a"]),
        ({"ATOMIC_CODING_AGENT_SESSION_DIR": "", "PI_CODING_AGENT_SESSION_DIR": "/p"}, []),
    ],
)
def test_atomics_session_directory_variables_work_alike(
    home: Path, here: Path, environ: dict[str, str], flat: list[str]
):
    assert roots(ATOMIC.places(surroundings(home, here, **environ)), "flat") == flat


def test_atomic_merges_four_settings_files_and_pis_own_are_the_weakest(home: Path, here: Path):
    around = surroundings(home, here)
    layers = [
        (home / ".pi/agent/settings.json", "/1"),
        (home / ".atomic/agent/settings.json", "/2"),
        (here / ".pi/settings.json", "/3"),
        (here / ".atomic/settings.json", "/4"),
    ]
    for path, directory in layers:
        write(path, {"sessionDir": directory})
        assert roots(ATOMIC.places(around), "flat") == [directory]


def test_a_defined_agent_directory_hides_pis_settings_from_atomic(home: Path, here: Path):
    write(home / ".pi/agent/settings.json", {"sessionDir": "/pi"})
    assert roots(ATOMIC.places(surroundings(home, here)), "flat") == ["/pi"]
    assert roots(ATOMIC.places(surroundings(home, here, ATOMIC_CODING_AGENT_DIR="")), "flat") == []


# ---- indusagi ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "homes"),
    [
        ({}, ["{home}/.indusagi/agent", "{home}/.pindusagi/agent", "{home}/.pindusagi"]),
        ({"INDUSAGI_CODING_AGENT_DIR": "/c"}, ["/c"]),
        ({"INDUSAGI_AGENT_DIR": "~/a", "INDUSAGI_CODING_AGENT_DIR": "/c"}, ["{home}/a", "/c"]),
        (
            {"INDUSAGI_AGENT_DIR": "", "INDUSAGI_CODING_AGENT_DIR": "/c"},
            ["{home}/.indusagi/agent", "{home}/.pindusagi/agent", "/c"],
        ),
        (
            {"INDUSAGI_DIR": "/base"},
            ["/base/agent", "{home}/.indusagi/agent", "{home}/.pindusagi"],
        ),
    ],
)
def test_all_generations_of_indusagi_are_looked_for(home: Path, here: Path, environ: dict[str, str], homes: list[str]):
    expected = [f"{directory.format(home=home)}/sessions" for directory in homes]
    assert roots(INDUSAGI.places(surroundings(home, here, **environ))) == expected


def test_indusagi_does_not_tidy_the_directory_it_names_a_folder_after(home: Path, here: Path):
    assert INDUSAGI.folder_of("/home/dev/.dotfiles/", surroundings(home, here)) == "--home-dev-.dotfiles---"
    assert slug_of("/home/dev/texts/notes: drafts") == "--home-dev-texts-notes-drafts--"


# ---- whose file it is --------------------------------------------------------------------------------------

TITLE = b'{"type":"title","v":1,"title":"","updatedAt":"x","pad":" "}\n'
HEADER = b'{"type":"session","version":3,"id":"a","cwd":"/p"}\n'
WORKFLOW = b'{"type":"session","id":"a","internal":true,"workflow":{"runId":"r","stageId":"s","stageName":"%s"}}\n'
VERBATIM = b'{"type":"compaction","id":"b","details":{"strategy":"%s"}}\n'


@pytest.mark.parametrize(
    ("head", "agent"),
    [
        (HEADER, None),
        (TITLE + HEADER, "omp"),
        (b"\xef\xbb\xbf" + TITLE + HEADER, "omp"),
        (HEADER + TITLE, None),
        (HEADER + b'{"type":"session_init","id":"b"}', "omp"),
        (HEADER + b'{"type":"message","message":{"content":"{\\"type\\":\\"session_init\\"}"}}\n', None),
        (HEADER + b'{"type":"custom","data":\n{"type":"mode_change"', "omp"),
        (WORKFLOW % b"plan", "atomic"),
        (WORKFLOW % b" ", None),
        (HEADER + b'{"type":"session_summary"}', "atomic"),
        (HEADER + b'{"type":"context_compaction"}', "atomic"),
        (HEADER + VERBATIM % b"verbatim-lines", "atomic"),
        (HEADER + VERBATIM % b"other", None),
        (TITLE + HEADER + b'{"type":"session_summary"}', "omp"),
        (b'{"schema":"indus/transcript@1","kind":"head"}', "indusagi"),
        (b'{"kind":"entry","schema":"indus/transcript@1"}', "indusagi"),
        (b"", None),
        (b"\xff\n\x00{", None),
    ],
)
def test_marks_tell_the_program_only_where_a_line_begins(head: bytes, agent: str | None):
    assert marks_of_head(head).agent() == agent


ALL = ("pi", "omp", "atomic", "indusagi")


@pytest.mark.parametrize(
    ("places", "folder", "marks", "agent"),
    [
        (ALL, "--p--", (), "pi"),
        (("atomic", "omp"), "--p--", (), "omp"),
        (("indusagi", "atomic"), "--p--", (), "atomic"),
        (ALL, "-proj", (), "omp"),
        (ALL, "-tmp-x", (), "omp"),
        (("pi",), "-", (), "omp"),
        (ALL, "tmp-x-" + "a" * 64, (), "omp"),
        (ALL, "-proj", ("atomic",), "atomic"),
        (("pi",), "--p--", ("omp",), "omp"),
        (("pi",), "--p--", ("omp", "atomic"), "omp"),
        (("pi",), "", ("indusagi",), "indusagi"),
        ((), "", (), "pi"),
    ],
)
def test_marks_decide_whose_file_it_is_then_the_folder_then_the_owner(
    places: tuple[str, ...], folder: str, marks: tuple[str, ...], agent: str
):
    assert attribute(places, folder, Marks(frozenset(marks))) == agent


# ---- what belongs to a session -----------------------------------------------------------------------------


def test_omps_artifacts_backups_and_leftovers_belong_to_their_session_only(tmp_path: Path):
    mine = [
        ".a b.jsonl.0123456789abcdef.tmp",
        ".a b.jsonl.lock.os",
        "a b.jsonl.0123456789abcdef.bak",
    ]
    others = ["a b.jsonl", "a b2.jsonl", "a bxjsonl.0123456789abcdef.bak", "a b.jsonl.short.bak", "a b.md"]
    for name in mine + others:
        write(tmp_path / name, "")
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b2").mkdir()
    assert _companions(OMP, tmp_path / "a b.jsonl") == {*mine, "a b"}


def test_atomics_backups_notes_and_children_belong_to_their_session_only(tmp_path: Path):
    mine = [
        "s.jsonl.2026-08-20T14-00-00-000Z.compact.bak",
        "s-compaction-success-1724162400000-01a1fdf4-18ec-752a-8903-a8afe2b70430.json",
    ]
    others = ["s.jsonl", "s2.jsonl.2026-08-20T14-00-00-000Z.compact.bak", "run-history.jsonl"]
    for name in mine + others:
        write(tmp_path / name, "")
    (tmp_path / "s").mkdir()
    (tmp_path / "subagent-artifacts").mkdir()
    assert _companions(ATOMIC, tmp_path / "s.jsonl") == {*mine, "s"}


S = "2026-08-13T08-00-00-000Z_019beea5"
T = "2026-08-13T08-00-00-000Z_019beea5-b"
"""Names of two sessions as agents make them; the first begins the second."""


@pytest.mark.parametrize("agent", AGENTS.values(), ids=list(AGENTS))
@pytest.mark.parametrize(
    ("session", "mine", "others"),
    [
        (
            f"{S}.jsonl",
            # Names that extensions of pi and programs around it use, and others of their form.
            [
                f"{S}/",
                f"{S}.meta.json",
                f"{S}-telegram.json",
                f"{S}-task-state.json",
                f"{S}_session-metadata.json",
                f"{S}-role.md",
                f"{S}.memory.md",
                f"{S}.jsonl.exit",
                f"{S}.jsonl.activity.json",
                f"{S}.jsonl.artifacts/",
            ],
            [
                f"{T}.jsonl",
                f"{T}/",
                f"{T}.meta.json",
                f"{T}.jsonl.exit",
                f"{S} (conflicted copy).jsonl",
                f"{S}.sync-conflict-20261126-233000-ABCDEFG.jsonl",
                f"{S}.sync-conflict-20261126-233000-ABCDEFG.meta.json",
                f"{S}.html",
                f"{S}.md",
                f"{S}.old/",
                f"{S}-backup/",
                f"{S}2/",
                f"{S[:-1]}/",
                "archive/",
                "subagent-artifacts/",
                "tool-results/",
                "2026-08-13T08-00-00-000Z.meta.json",
            ],
        ),
        # A name that a user chose: only the folder of exactly this name.
        ("notes.jsonl", ["notes/"], ["notes.md", "notes.json", "notes.meta.json", "notes-old.json", "notes2/"]),
        ("notes.ndjson", ["notes/"], ["notes.meta.json"]),
        ("notes.jsonl.gz", ["notes/"], ["notes.jsonl.gz.exit"]),
        # One folder for two session files goes with the first of them only.
        ("notes.ndjson", [], ["notes/", "notes.jsonl"]),
        ("notes.txt", [], ["notes/", "notes.txt.meta.json"]),
        (".jsonl", [], ["a/", ".jsonl.exit"]),
    ],
)
def test_what_extensions_keep_beside_a_session_belongs_to_it_and_nothing_else(
    tmp_path: Path, agent: Agent, session: str, mine: list[str], others: list[str]
):
    for name in [session, *mine, *others]:
        if name.endswith("/"):
            (tmp_path / name).mkdir()
        else:
            write(tmp_path / name, "")
    assert _companions(agent, tmp_path / session) == {name.rstrip("/") for name in mine}


def test_a_projects_folder_never_belongs_to_a_session_beside_it(tmp_path: Path):
    root = tmp_path / "sessions"
    for name in ("work", S):
        (root / name).mkdir(parents=True)
        write(root / f"{name}.jsonl", "")
    assert _companions(PI, root / "work.jsonl") == set()
    assert _companions(PI, root / f"{S}.jsonl") == {S}


def _companions(agent: Agent, path: Path) -> set[str]:
    return {os.path.basename(found) for found in agent.companions(str(path))}


def test_the_programs_stand_in_the_order_of_owners_and_bring_their_rules():
    assert list(AGENTS) == ["pi", "omp", "atomic", "indusagi", "claude", "codex"]
    assert [agent.rules.agent for agent in AGENTS.values()] == list(AGENTS)
    assert [agent.glyph for agent in AGENTS.values()] == ["π", "ω", "α", "ι", "c", "x"]


def test_the_real_surroundings_are_those_of_this_process(own_home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TMPDIR", "/var/tmp/")
    monkeypatch.setenv("PI_CODING_AGENT_DIR", "/x")
    around = Surroundings.real()
    assert (around.home, around.cwd, around.tmpdir) == (str(own_home), str(Path.cwd()), "/var/tmp")
    assert around.environ["PI_CODING_AGENT_DIR"] == "/x"


@pytest.mark.parametrize("cwd", ["/home/dev/a\0b", "/home/dev/\ud800"])
@pytest.mark.parametrize(
    "agent", [agent for agent in AGENTS.values() if agent.name != "codex"], ids=lambda one: one.name
)
def test_a_directory_that_no_disk_can_have_gives_a_folder_name(agent: Agent, cwd: str, home: Path, here: Path) -> None:
    assert agent.folder_of(cwd, surroundings(home, here))
