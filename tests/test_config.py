"""What the settings file says holds, wrong settings are named, our directories follow the environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import platformdirs
import pytest

from sessionbrowse import config
from sessionbrowse.config import LoadedSettings, Settings


def load(tmp_path: Path, text: str | bytes) -> LoadedSettings:
    path = tmp_path / "config.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return config.load_settings({"SESSIONBROWSE_CONFIG": str(path)}, tmp_path)


def test_without_a_file_the_defaults_hold_and_nothing_is_made(tmp_path: Path) -> None:
    loaded = config.load_settings({}, tmp_path)
    assert loaded.settings == Settings()
    assert loaded.problems == ()
    assert loaded.path == tmp_path / ".config/sessionbrowse/config.toml"
    assert list(tmp_path.iterdir()) == []


def test_every_setting_can_be_set(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """
        theme = "light"
        date_style = "iso"
        tree_filter = "no-tools"
        sort = "threaded"
        index_tools = true
        roots = ["~/backup/.pi/agent"]
        [keys]
        rename = "f6"
        [agents]
        pi = ["npx", "pi"]
        """,
    )
    assert loaded.problems == ()
    assert loaded.settings == Settings(
        theme="light",
        date_style="iso",
        tree_filter="no-tools",
        sort="threaded",
        index_tools=True,
        roots=("~/backup/.pi/agent",),
        keys={"rename": "f6"},
        agents={"pi": ("npx", "pi")},
    )


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('tree_filer = "all"', 'unknown setting "tree_filer"; it is ignored. Did you mean "tree_filter"?'),
        ("colour = 1", 'unknown setting "colour"; it is ignored.'),
        ("theme = 3", '"theme" must be a text in quotes; the default is used.'),
        ('sort = "best"', '"sort" must be one of newest, threaded, name, size, cost; the default is used.'),
        ("index_tools = 1", '"index_tools" must be true or false; the default is used.'),
        (
            'roots = "~/old"',
            '"roots" must be a list of texts such as ["~/old/.pi/agent"]; the default is used.',
        ),
        (
            "keys = 2",
            '"keys" must be a table of texts such as {rename = "f6"}; the default is used.',
        ),
        (
            'agents = "pi"',
            '"agents" must be a table of lists such as {pi = ["npx", "pi"]}; the default is used.',
        ),
    ],
)
def test_a_wrong_setting_is_named_and_the_others_hold(tmp_path: Path, line: str, sentence: str) -> None:
    loaded = load(tmp_path, f'date_style = "date"\n{line}\n')
    assert loaded.settings == Settings(date_style="date")
    assert loaded.problems == (f"{loaded.path}: {sentence}",)


def test_a_wrong_key_or_program_is_named_and_the_others_hold(tmp_path: Path) -> None:
    loaded = load(tmp_path, 'keys = {open = 3, rename = "f6"}\nagents = {omp = "omp", pi = ["npx", "pi"]}\n')
    assert loaded.settings == Settings(keys={"rename": "f6"}, agents={"pi": ("npx", "pi")})
    assert loaded.problems == (
        f'{loaded.path}: "keys.open" must be a text such as "f6"; the value is ignored.',
        f'{loaded.path}: "agents.omp" must be a list of texts such as ["npx", "pi"]; the value is ignored.',
    )


@pytest.mark.parametrize("key", ["name", "host", "roots"])
def test_a_machine_whose_name_host_or_directory_could_be_misread_is_refused_with_a_sentence(
    tmp_path: Path, key: str
) -> None:
    wrong = {
        "name": [
            "c",
            "con",
            "NUL",
            "Prn",
            "aux",
            "COM1",
            "lpt9",
            "mini.",
            "mi\\u0000ni",
            "mini\\n",
            "",
            "..",
            "a/b",
            "-x",
        ],
        "host": ["-oProxyCommand=x", "a b", "mini\\u0000", "", "mini\\n", "a;b"],
        "roots": ["/a\\u0000", "/a\\nb", "/\\u001b[2J", ""],
    }[key]
    for text in wrong:
        value = f'["{text}"]' if key == "roots" else f'"{text}"'
        lines = {"name": '"mini"', "host": '"mini.local"', key: value}
        table = "[[machines]]\n" + "".join(f"{name} = {each}\n" for name, each in lines.items())
        loaded = load(tmp_path, table + '[[machines]]\nname = "console"\nhost = "h"\n')
        assert [machine.name for machine in loaded.settings.machines] in (["console"], ["mini", "console"]), text
        assert (loaded.settings.machines[0].roots, len(loaded.problems)) == ((), 1), text
        assert f'"machines[1].{key}" must be {config.WANTED[f"machines.{key}"]}; ' in loaded.problems[0], text


def test_each_setting_has_words_for_what_it_takes() -> None:
    for name in Settings.__struct_fields__:
        _, problems = config.parse_settings(f"{name} = 1979-05-27")
        assert problems
        assert not problems[0].endswith("must be one of ; the default is used.")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"theme = ", "not valid TOML"),
        (b"theme = 'light'\ntheme = 'dark'", "not valid TOML"),
        (b"theme = '\xff'", "not UTF-8"),
        (b"x = " + b"[" * 100_000, "not valid TOML"),
    ],
)
def test_a_file_that_is_no_toml_means_the_defaults_and_a_sentence(tmp_path: Path, content: bytes, words: str) -> None:
    loaded = load(tmp_path, content)
    assert loaded.settings == Settings()
    assert len(loaded.problems) == 1
    assert words in loaded.problems[0]
    assert loaded.problems[0].endswith("the defaults are used.")


def test_a_file_from_a_windows_editor_is_read(tmp_path: Path) -> None:
    assert load(tmp_path, b"\xef\xbb\xbftheme = 'light'\r\n").settings.theme == "light"


def test_a_directory_in_place_of_the_file_is_a_sentence(tmp_path: Path) -> None:
    loaded = config.load_settings({"SESSIONBROWSE_CONFIG": str(tmp_path)}, tmp_path)
    assert loaded.settings == Settings()
    assert "cannot be read" in loaded.problems[0]


def test_directories_follow_xdg_and_ignore_relative_values(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": "/c", "XDG_STATE_HOME": "relative", "XDG_CONFIG_HOME": ""}
    assert config.cache_dir(env, tmp_path) == Path("/c/sessionbrowse")
    assert config.state_dir(env, tmp_path) == tmp_path / ".local/state/sessionbrowse"
    assert config.config_dir(env, tmp_path) == tmp_path / ".config/sessionbrowse"


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="there platformdirs itself is asked")
@pytest.mark.parametrize("xdg", [True, False])
def test_directories_are_those_that_platformdirs_names(monkeypatch: pytest.MonkeyPatch, xdg: bool) -> None:
    if not xdg:
        for variable in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            monkeypatch.delenv(variable)
    assert config.config_dir() == platformdirs.user_config_path("sessionbrowse")
    assert config.cache_dir() == platformdirs.user_cache_path("sessionbrowse")
    assert config.state_dir() == platformdirs.user_state_path("sessionbrowse")


def test_elsewhere_platformdirs_is_asked(tmp_path: Path) -> None:
    assert config._own_dir("cache", {}, tmp_path, "darwin") == platformdirs.user_cache_path(
        "sessionbrowse", appauthor=False
    )


def test_a_pipe_or_a_directory_in_the_place_of_the_file_is_a_sentence(tmp_path: Path) -> None:
    for make in (os.mkfifo, os.mkdir):
        path = tmp_path / make.__name__
        make(path)
        loaded = config.load_settings({"SESSIONBROWSE_CONFIG": str(path)})
        assert loaded.settings == Settings()
        assert "cannot be read" in loaded.problems[0]


def test_former_words_of_values_are_still_understood() -> None:
    text = 'sort = "recent"\nscope = "folder"\nrow_fields = ["folder", "cost"]'
    settings, problems = config.parse_settings(text)
    assert (settings.sort, settings.scope, settings.row_fields) == ("newest", "project", ("project", "cost"))
    assert problems == []
    assert "newest, threaded, name, size, cost" in config.parse_settings('sort = "latest"')[1][0]
