"""The user's settings file, and the program's directories.

This module does not check names of commands, agents and themes in the settings; the modules that use them do.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import msgspec

from sessionbrowse.errors import NotFound, meant

APP = "sessionbrowse"
T = TypeVar("T", bound=msgspec.Struct)

INDEX_FILE = "index.sqlite"
"""Name of the index file in the cache directory."""

DateStyle = Literal["age", "date", "iso"]
TreeFilter = Literal["default", "no-tools", "user-only", "labeled-only", "all"]
Sort = Literal["newest", "threaded", "name", "size", "cost"]
Habits = Literal["default", "pi"]
Scope = Literal["all", "project"]
Enter = Literal["open", "resume"]
ProjectsBy = Literal["directory", "repository"]
RowField = Literal["model", "project", "agent", "modified", "messages", "tokens", "cost", "size", "branches"]
_FORMER_WORDS = {"sort": {"recent": "newest"}, "scope": {"folder": "project"}, "row_fields": {"folder": "project"}}
"""Former names of values that settings still accept, with their present names."""
ResumeIn = Literal["here", "tmux-window", "tmux-split", "command"]
AgentName = Literal["pi", "omp", "atomic", "indusagi", "claude", "codex"]
CommandPlace = Literal["everywhere", "lists", "session"]
CommandOutput = Literal["terminal", "pause", "toast"]

ROW_FIELDS: tuple[RowField, ...] = ("model", "project", "agent", "modified", "messages", "cost")
"""Fields that a session's row shows next to its title, from left to right."""


HABITS: Mapping[str, Mapping[str, Any]] = {
    "pi": {"sort": "threaded", "enter": "resume", "row_fields": ["project", "messages", "modified"], "restore": False}
}
"""Maps a value of the setting `habits` to the defaults that it changes in other settings."""


class ResumeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings for resuming a session in its agent."""

    where: ResumeIn = msgspec.field(default="here", name="in")
    """The place in which the agent runs: `here` is the browser's terminal; with others the browser stays usable."""
    command: tuple[str, ...] = ()
    """Program and arguments that start the agent if the setting `in` is `command`.

    Placeholders: `{argv}` is the agent's command line as separate words, `{line}` is one shell line that changes to
    the session's directory and starts the agent, `{cwd}` is that directory.
    """


class CustomCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command that the user defined; placeholders are `{path}`, `{id}`, `{cwd}`, `{entry}`, `{agent}`, `{name}`."""

    name: str
    """Title of the command in help and palette."""
    run: tuple[str, ...] | str
    """Program and arguments, or one line for the shell; in a shell line the values of placeholders are quoted."""
    key: str = ""
    """Key that runs the command; without a key the user runs it from the palette."""
    where: CommandPlace = "everywhere"
    """The screens that offer the command."""
    output: CommandOutput = "terminal"
    """The way in which the command runs, and the place where its output appears.

    `terminal` gives the command the terminal, `pause` then also waits for Enter. `toast` runs the command in the
    background and shows its output as a toast.
    """


class NotForAgents(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions that the command line hides from agents; this is no protection, because an agent can read the files."""

    directories: tuple[str, ...] = ()
    """Directories whose sessions are hidden, with all their subdirectories; `~` is the home directory."""
    sessions: tuple[str, ...] = ()
    """Hidden sessions, by id or path."""
    labels: tuple[str, ...] = ()
    """Labels, such as `private`, whose sessions are hidden."""


MACHINE_NAME = r"(?!(?i:con|prn|aux|nul|com\d|lpt\d)(?![A-Za-z0-9_-]))[A-Za-z0-9][A-Za-z0-9_-]{1,31}"
"""Pattern for names of machines, which are used as names of folders and as prefixes (`mini:/home/me`).

A single letter would look like a drive letter, and Windows allows no folder named like a device, such as `con`.
"""


class MachineSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Another machine; its sessions are listed, read and searched here after they were fetched over ssh (a look)."""

    name: Annotated[str, msgspec.Meta(pattern=rf"\A{MACHINE_NAME}\Z")]
    """Name of the machine in lists (`@name`)."""
    host: Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9_][A-Za-z0-9_.@:%\[\]-]{0,254}\Z")]
    """The machine's name in ssh's own configuration, or `user@host`; ssh's options are set in that configuration."""
    roots: tuple[Annotated[str, msgspec.Meta(pattern=r"\A[^\x00-\x1f\x7f]{1,1024}\Z")], ...] = ()
    """Directories on that machine to look for sessions, in addition to those of the agents."""
    look: Literal["asked", "start"] = "asked"
    """`start`: the browser fetches new sessions when it starts; `asked`: only a key or a command fetches them."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The user's settings; every field is a key of the settings file and has a default."""

    habits: Habits = "default"
    """`pi` changes the default keys and the defaults of other settings to those of pi's session picker and tree."""
    theme: str = "dark"
    """Name of the colour theme."""
    date_style: DateStyle = "age"
    """Format of the times in lists: `age` (2h), `date` (Nov 21 14:03) or `iso` (ISO 8601)."""
    tree_filter: TreeFilter = "default"
    """The entry filter that is active when a session's tree opens."""
    sort: Sort = "newest"
    """The sort order of the list of sessions when the browser opens."""
    scope: Scope = "project"
    """`project`: first list only the current directory's sessions, if there are any; `all`: list all sessions."""
    enter: Enter = "open"
    """Action of Enter on the session or entry under the cursor: `open` shows it, `resume` resumes it in its agent."""
    projects_by: ProjectsBy = "directory"
    """`repository` shows all worktrees of one git repository as one project."""
    fold_families: bool = True
    """Fold forks, copies, subagent runs and sessions of at most one message under the row above them."""
    row_fields: tuple[RowField, ...] = ROW_FIELDS
    """Fields that a session's row shows next to its title, as far as there is room."""
    preview: bool = True
    """Show the preview when the browser opens."""
    restore: bool = True
    """Reopen the browser at the project, session and filter of the last run."""
    index_tools: bool = False
    """Include tool calls and results in the text index."""
    search_half_life: Annotated[int, msgspec.Meta(ge=1)] = 30
    """Number of days after which the bonus that search results get for being recent is halved."""
    roots: tuple[str, ...] = ()
    """Directories to scan for sessions in addition to those of the agents; `~` is the home directory."""
    show_agents: tuple[AgentName, ...] = ()
    """Agents whose sessions are listed, searched and counted; an empty list means all agents."""
    keys: dict[str, str] = msgspec.field(default_factory=dict)
    """Keys that replace the default keys; maps command ids to keys."""
    agents: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Program and arguments that start an agent, by agent name; the default is the program of that name on the PATH."""
    resume: ResumeSettings = ResumeSettings()
    """The settings for resuming sessions."""
    redact_patterns: tuple[str, ...] = ()
    """Regular expressions: `redact` masks their matches besides the secrets that it finds itself.

    If an expression has groups, only the text that matches group 1 is masked.
    """
    not_for_agents: NotForAgents = NotForAgents()
    """Sessions that the command line hides from agents."""
    commands: tuple[CustomCommand, ...] = ()
    """Commands that the user defined."""
    machines: tuple[MachineSettings, ...] = ()
    """Other machines whose sessions are listed."""


class LoadedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings in use, the path of the settings file, and one sentence for each setting that cannot be used."""

    settings: Settings
    path: Path
    problems: tuple[str, ...] = ()


def load_settings(env: Mapping[str, str] = os.environ, home: Path | None = None) -> LoadedSettings:
    """Return the user's settings; missing or invalid ones have their default values."""
    path = settings_path(env, home)
    try:
        # Without O_NONBLOCK, opening a FIFO would block until another program writes to it.
        with open(path, "rb", opener=lambda path, flags: os.open(path, flags | getattr(os, "O_NONBLOCK", 0))) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            text = file.read().decode()
    except FileNotFoundError:
        return LoadedSettings(settings=Settings(), path=path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        problem = f"The settings file {path} cannot be read ({reason}); the defaults are used."
        return LoadedSettings(settings=Settings(), path=path, problems=(problem,))
    settings, problems = parse_settings(text)
    return LoadedSettings(settings=settings, path=path, problems=tuple(f"{path}: {problem}" for problem in problems))


def parse_settings(text: str) -> tuple[Settings, list[str]]:
    """Return the settings in the TOML document `text`, and one sentence for each setting that cannot be used."""
    import tomllib  # Imported here because most users have no settings file to parse.

    try:
        table = tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return Settings(), [f"not valid TOML ({error}); the defaults are used."]
    problems: list[str] = []
    habits = table.get("habits")
    if isinstance(habits, str):
        table = {**HABITS.get(habits, {}), **table}
    return _settings_of(Settings, table, "", problems), problems


def _settings_of(kind: type[T], table: Mapping[str, Any], above: str, problems: list[str]) -> T:
    """Return the valid settings of a TOML table as a struct of the class `kind`, such as `Settings`.

    For each invalid setting one sentence is added to `problems`.

    Raises:
        ValidationError: a setting without a default is missing or invalid.
    """
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    good: dict[str, Any] = {}
    for key, value in table.items():
        name = above + key
        field = fields.get(key)
        if field is None:
            problems.append(f'unknown setting "{name}"; it is ignored.{_question(key, fields, above)}')
            continue
        try:
            good[field.name] = _value_of(field.type, value, name, problems)
        except msgspec.ValidationError:
            fallback = f"the {_TABLES[kind]} is ignored" if field.required else "the default is used"
            problems.append(f'"{name}" must be {_wanted(name, field.type)}; {fallback}.')
    missing = [field.encode_name for field in fields.values() if field.required and field.name not in good]
    if missing:
        raise msgspec.ValidationError(f"without {missing[0]}")
    return kind(**good)


def _value_of(kind: Any, value: object, name: str, problems: list[str]) -> object:
    if kind is ResumeSettings and isinstance(value, dict):
        return _settings_of(ResumeSettings, value, f"{name}.", problems)
    if kind is NotForAgents and isinstance(value, dict):
        return _settings_of(NotForAgents, value, f"{name}.", problems)
    if isinstance(value, list) and get_args(kind)[:1] and get_args(kind)[0] in _TABLES:
        return _tables_of(get_args(kind)[0], value, name, problems)
    if get_origin(kind) is dict and isinstance(value, dict):
        return _entries_of(get_args(kind)[1], value, name, problems)
    words = _FORMER_WORDS.get(name, {})
    if isinstance(value, list):
        return msgspec.convert([words.get(str(one), one) for one in value], kind)
    return msgspec.convert(words.get(str(value), value), kind)


def _entries_of(kind: Any, table: Mapping[str, object], name: str, problems: list[str]) -> dict[str, Any]:
    """Return the valid part of the TOML table `table`, whose keys the user chooses, such as names of agents.

    For each invalid value one sentence is added to `problems`.
    """
    good: dict[str, Any] = {}
    for key, value in table.items():
        try:
            good[key] = msgspec.convert(value, kind)
        except msgspec.ValidationError:
            problems.append(f'"{name}.{key}" must be {WANTED_EACH[name]}; the value is ignored.')
    return good


def _tables_of(kind: type[T], tables: list[Any], name: str, problems: list[str]) -> tuple[T, ...]:
    """Return the valid ones of the settings' tables of a class; add one sentence to `problems` for each invalid one.

    Of several machines with one name, the first is used.
    """
    found: dict[object, T] = {}
    for number, table in enumerate(tables, 1):
        here = f"{name}[{number}]"
        told = len(problems)
        try:
            one = _settings_of(kind, msgspec.convert(table, dict[str, Any]), f"{here}.", problems)
        except msgspec.ValidationError:
            if len(problems) == told:
                problems.append(f'"{here}" must be {WANTED[name]}; the {_TABLES[kind]} is ignored.')
            continue
        key = one.name.casefold() if isinstance(one, MachineSettings) else number
        if key in found:
            problems.append(f'"{here}.name" is the name of another machine; the machine is ignored.')
        found.setdefault(key, one)
    return tuple(found.values())


def _question(key: str, fields: Mapping[str, object], above: str) -> str:
    name = meant(key, fields)
    return f' Did you mean "{above}{name}"?' if name else ""


def _wanted(name: str, kind: object) -> str:
    last = name.rpartition(".")[2]
    table = re.sub(r"\[\d+\]", "", name)
    return WANTED.get(table) or WANTED.get(last if table != name else name) or "one of " + ", ".join(get_args(kind))


WANTED = {
    "theme": "a text in quotes",
    "fold_families": "true or false",
    "preview": "true or false",
    "restore": "true or false",
    "index_tools": "true or false",
    "search_half_life": "a number of days, 1 or more",
    "row_fields": f"a list of any of: {', '.join(get_args(RowField))}",
    "roots": 'a list of texts such as ["~/old/.pi/agent"]',
    "show_agents": f"a list of any of: {', '.join(get_args(AgentName))}",
    "keys": 'a table of texts such as {rename = "f6"}',
    "agents": 'a table of lists such as {pi = ["npx", "pi"]}',
    "redact_patterns": 'a list of texts such as ["ticket-[0-9]+"]',
    "not_for_agents": 'a table such as {labels = ["private"]}',
    "not_for_agents.directories": 'a list of texts such as ["~/secret"]',
    "not_for_agents.sessions": "a list of session ids and paths",
    "not_for_agents.labels": 'a list of texts such as ["private"]',
    "resume": 'a table such as {in = "tmux-window"}',
    "resume.command": 'a list of texts such as ["kitty", "{argv}"]',
    "commands": 'a table with at least name and run, such as {name = "Editor", run = ["code", "{cwd}"]}',
    "machines": 'a table with name and host, such as {name = "mini", host = "mini.local"}',
    "machines.name": (
        "a name of 2 to 32 letters, digits, - and _, which begins with a letter or digit "
        "and is not that of a device of Windows (con, nul); one letter would be a drive"
    ),
    "machines.roots": 'a list of paths there such as ["~/old/.pi/agent"], without control characters',
    "machines.host": "a name that ssh knows, or user@host; it cannot begin with -",
    "name": "a text in quotes",
    "run": 'a shell line in quotes, or a list of texts such as ["code", "{cwd}"]',
    "key": "a text in quotes",
}


def example() -> str:
    """Return an example of a settings file: every setting with its default, commented out."""
    return Path(__file__).with_name("settings_example.toml").read_text(encoding="utf-8")


# ---- our own directories -----------------------------------------------------------------------------------


def settings_path(env: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """Return the path of the settings file: `SESSIONBROWSE_CONFIG`, else `config.toml` in `config_dir`."""
    named = env.get("SESSIONBROWSE_CONFIG")
    return Path(named) if named else config_dir(env, home) / "config.toml"


def config_dir(env: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """Return the directory of the user's settings; it may not exist yet."""
    return _own_dir("config", env, home)


def cache_dir(env: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """Return the directory of caches, such as the index; it may not exist yet."""
    return _own_dir("cache", env, home)


def state_dir(env: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """Return the directory for the journal, pinned sessions and the browser's state at exit; it may not exist yet."""
    return _own_dir("state", env, home)


def data_dir(env: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """Return the directory of the program's own trash and of mirrors of other machines; it may not exist yet."""
    return _own_dir("data", env, home)


_XDG = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "state": ("XDG_STATE_HOME", ".local/state"),
    "data": ("XDG_DATA_HOME", ".local/share"),
}


def _own_dir(kind: str, env: Mapping[str, str], home: Path | None, system: str = sys.platform) -> Path:
    if system in ("darwin", "win32"):
        import platformdirs

        return Path(getattr(platformdirs, f"user_{kind}_path")(APP, appauthor=False))
    # On Unix platformdirs would return the same paths, but its import takes 17 ms, and it cannot be told to use another
    # environment (`env`) or home directory (`home`) than those of this process.
    variable, below_home = _XDG[kind]
    named = env.get(variable, "").strip()
    if Path(named).is_absolute():
        return Path(named) / APP
    try:
        return (home or Path(env.get("HOME") or Path.home())) / below_home / APP
    except RuntimeError as error:
        raise NotFound("There is no home directory for this user; set HOME to one.") from error


_TABLES: Mapping[Any, str] = {CustomCommand: "command", MachineSettings: "machine"}
WANTED_EACH = {"keys": 'a text such as "f6"', "agents": 'a list of texts such as ["npx", "pi"]'}
