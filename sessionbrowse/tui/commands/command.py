"""Commands, the rows of the command table: their contexts and keys, and the state of a screen by which they work."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace
from textual.keys import KEY_NAME_REPLACEMENTS, REPLACED_KEYS, key_to_character

MOVE, OPEN, FIND, SHOW, TREE_GROUP, PROGRAM = "Move", "Open", "Find and sort", "Show", "Tree", "Program"
CUSTOM = "Your own commands"
CUSTOM_ID = "custom_"
"""Prefix of the ids of the user's own commands; the command's number follows."""
CHANGE = "Change"

GROUPS = (MOVE, OPEN, FIND, SHOW, TREE_GROUP, CHANGE, PROGRAM, CUSTOM)
"""The titles of the command groups, in the order of the help screen and of docs/keys.md."""

# ---- contexts: the screens, panes and text lines in which commands are available ------------------------------

# Each context is the name that help and docs give to it. Several apply at a time; a screen lists them with the
# narrowest first (pane, screen, everywhere).
EVERYWHERE = "everywhere"
LIST = "lists"  # Commands of the screen that lists projects and sessions, whichever pane has the focus.
PROJECTS = "projects"
SESSIONS = "sessions"
PREVIEW = "preview"
SESSION = "session"  # Commands of the screen of one session, whichever pane has the focus.
TREE = "tree"
# Like the contexts of all text lines, this one is active while the line is focused.
TREE_LINE = "search line of a tree"
VIEW = "entry, context, raw"
HELP = "help"
OVERLAY = "help, palette"
WELCOME = "first run"
TYPING = "search line of a list"
SEARCHING = "search line of sessions"
STATS = "cost"
DOCTOR = "problems"
CLEANUP = "what could go"
REVIEW = "secrets"  # Active on the screen that lists secrets to mask.
DIALOG = "dialogs"
PROMPT = "dialogs with a text line"
WORKING = "work under way"  # Active while the progress window is open.

CONTEXT_STACKS = (
    *[(pane, LIST, EVERYWHERE) for pane in (PROJECTS, SESSIONS, PREVIEW)],
    *[(pane, SESSION, EVERYWHERE) for pane in (TREE, VIEW)],
    (HELP, OVERLAY, EVERYWHERE),
    *[(context, EVERYWHERE) for context in (OVERLAY, WELCOME, STATS, DOCTOR, CLEANUP, REVIEW, DIALOG, WORKING)],
    *[(context,) for context in (TYPING, TREE_LINE, SEARCHING, PROMPT)],
)
"""Each tuple: contexts that are active at the same time, in which a key must run only one command."""


class CommandContext(Struct, frozen=True, kw_only=True):
    """The state of a screen, from which each command decides whether it is available."""

    has_rows: bool = True
    has_session: bool = False
    selected: int = 0
    """The number of selected sessions."""
    has_filter: bool = False
    foldable: bool = False
    has_scopes: bool = True
    has_family: bool = False
    folds_families: bool = True
    shows_hidden: bool = True
    is_scanning: bool = False
    branch_points: int = 0
    labels: int = 0
    blocks: bool = False
    image: bool = False
    can_mend: bool = True
    has_project: bool = False
    has_entry: bool = False
    enter_resumes: bool = False
    """True if the command "open" resumes the session or entry under the cursor (setting `enter`)."""
    caller: str | None = None
    """The agent in whose terminal the browser runs, else None; inside an agent, commands that change files are off."""
    is_callers: bool = False
    """True if the agent `caller` has the session under the cursor open."""
    only_read: str | None = None
    """The program whose files are never written, if no row is selected and the session is one of its own; else None."""


WRITING = frozenset({"rename", "label", "fork", "checkout", "archive", "prune", "shrink"})
"""Ids of the commands that write a session's file, or make a new one for the same agent."""

Reason = Callable[[CommandContext], str | None]


class Command(Struct, frozen=True, kw_only=True):
    """A row of the command table.

    `title` is a verb of at most two words; `help` describes the command in about eight words, without a full stop. A
    command without `keys` is run from the palette, or by its `letter` in the actions menu; the settings can give it a
    key. `verb` groups commands that do the same on other screens, or the opposite (up, down). A key belongs to one
    verb; the table of keys has one row for each verb.
    """

    id: str
    keys: tuple[str, ...]
    title: str
    help: str
    where: tuple[str, ...]
    group: str = ""
    letter: str = ""
    verb: str = ""
    reason: Reason | None = None
    off_in_agent: Reason | None = None
    """A function that returns why the command is off while an agent runs the browser; None if the command stays on."""

    def unavailable(self, context: CommandContext) -> str | None:
        """Return the reason, as a sentence, why the command is unavailable; None if it is available."""
        if context.caller is not None and self.off_in_agent is not None:
            return self.off_in_agent(context)
        if self.id in WRITING and context.only_read is not None:
            return 'Only read; "Continue in" carries it to pi.'
        return self.reason(context) if self.reason is not None else None


def has_words(command: Command, words: str) -> bool:
    """Return True if the title, the help or the group of a command contains each of the typed words."""
    text = f"{command.title} {command.help} {command.group}".lower()
    return all(word in text for word in words.lower().split())


def row(
    id: str,
    keys: str,
    title: str,
    help: str,
    contexts: tuple[str, ...],
    reason: Reason | None = None,
    verb: str = "",
) -> Command:
    """Return a row of the command table; `keys` are written with blanks between, `verb` is by default the title."""
    return Command(
        id=id,
        keys=tuple(map(key_name, keys.split())),
        title=title,
        help=help,
        where=contexts,
        reason=reason,
        verb=verb or title,
    )


def in_group(group: str, *rows: Command) -> tuple[Command, ...]:
    """Return copies of rows of the command table, assigned to the command group `group`."""
    return tuple([replace(command, group=group) for command in rows])


def _needs(has: Callable[[CommandContext], object], reason: str) -> Callable[[CommandContext], str | None]:
    """Return a function that returns `reason` if `has` is false for the state of the screen, else None."""
    return lambda context: None if has(context) else reason


needs_session = _needs(lambda context: context.has_session, "There is no session under the cursor.")


def needs_one(context: CommandContext) -> str | None:
    if context.selected > 1:
        return f"It works on one session, and {context.selected:,} are selected."
    return needs_session(context)


needs_rows = _needs(lambda context: context.has_rows, "This list has no rows.")
needs_filter = _needs(lambda context: context.has_filter, "No search or filter is active.")
needs_fold = _needs(
    lambda context: context.foldable, "Nothing to fold here: only branch points and root entries can be folded."
)
needs_scopes = _needs(lambda context: context.has_scopes, "All projects are shown; there is no other to switch to.")
needs_block = _needs(lambda context: context.blocks, "The entry shown beside the tree has no fold, image or link.")
needs_image = _needs(lambda context: context.image, "The entry shown beside the tree has no image.")
needs_families = _needs(lambda context: context.folds_families, "A threaded or filtered list has no folds.")


def needs_family(context: CommandContext) -> str | None:
    if (why := needs_families(context)) is not None or context.has_family:
        return why
    if context.is_scanning:
        return "The browser has found no forks yet; it is still reading sessions."
    # The browser does not read hidden sessions of subagents, so it cannot tell whether there are any.
    has_all = context.shows_hidden
    return "This session has no forks or subagents." if has_all else 'No forks; "Show hidden" lists subagents.'


needs_branches = _needs(lambda context: context.branch_points, "This session has one branch only.")
needs_labels = _needs(lambda context: context.labels, "No entry of this session has a label.")
needs_mend = _needs(lambda context: context.can_mend, "There is no repair for this damage.")
needs_project = _needs(lambda context: context.has_project, "There is no project with a directory under the cursor.")
needs_entry = _needs(lambda context: context.has_entry, "There is no entry with an id under the cursor.")


def changes_are_off(context: CommandContext) -> str:
    return f"Changes are off inside {context.caller}: run sessionbrowse in another terminal."


def agent_names_it(context: CommandContext) -> str:
    return agent_does_it("/rename" if context.caller == "omp" else "/name", context)


def agent_does_it(command: str, context: CommandContext) -> str:
    """Name the slash command of the agent that has the session open."""
    return f"{context.caller} has this open; use {command}." if context.is_callers else changes_are_off(context)


def agent_goes_there(context: CommandContext) -> str:
    return f"{context.caller} is running: open the session or entry, and {context.caller} switches to it."


# ---- keys: their names in Textual (`question_mark`), as people write them (`?`), and on the screen ----------------

_NAMES = {
    "enter": "⏎",
    "escape": "esc",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "space": "space",
    "tab": "tab",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "backspace": "⌫",
    "delete": "Del",
}
NAMED_KEYS = sorted([*(name for name, label in _NAMES.items() if len(label) > 1 or not label.isascii()), "insert"])
"""Names of the keys that are no letters, digits or signs, as the settings name them."""
_MODIFIERS = {"ctrl": "^", "alt": "alt+", "shift": "shift+"}


def is_key(name: str) -> bool:
    """Return True if there is a key of this name, in Textual's spelling, such as `ctrl+r` or `question_mark`."""
    *modifiers, last = name.split("+")
    is_function = last[:1] == "f" and last[1:].isdigit() and 1 <= int(last[1:]) <= 24
    return set(modifiers) <= set(_MODIFIERS) and bool(last in NAMED_KEYS or is_function or sign_of(last))


def key_label(key: str) -> str:
    """Return the label of a key for screens and messages: `ctrl+r` → `^r`, `question_mark` → `?`."""
    *modifiers, name = key.split("+")
    if modifiers == ["alt", "shift"] and len(name) == 1:
        modifiers, name = ["alt"], name.upper()
    label = _NAMES.get(name) or sign_of(name) or (name.upper() if name[:1] == "f" and name[1:].isdigit() else name)
    return "".join([_MODIFIERS.get(modifier, f"{modifier}+") for modifier in modifiers]) + label


def sign_of(name: str) -> str:
    """Return the character of the key that Textual calls `name`: `number_sign` → `#`; "" for other keys."""
    sign = key_to_character(REPLACED_KEYS.get(name, name)) or ""
    return sign if sign.isprintable() else ""


def key_name(label: str) -> str:
    """Return Textual's name of a key that a person wrote: `?` → `question_mark`, `^r` → `ctrl+r`."""
    label = label.strip()
    if len(label) > 1 and label.startswith("^"):
        return "ctrl+" + key_name(label[1:].lower())
    if "+" in label[1:-1]:
        modifiers, _, name = label.rpartition("+")
        return f"{modifiers.lower()}+{key_name(name.lower())}"
    # A single letter keeps its case, because `G` is another key than `g`; longer key names are lower-case.
    if len(label) == 1:
        return label if label.isalnum() else _sign_name(label)
    return label.lower()


def _sign_name(sign: str) -> str:
    """Return Textual's name of the key for a punctuation mark: `#` → `number_sign`. Most are Unicode names."""
    name = unicodedata.name(sign, sign).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)
