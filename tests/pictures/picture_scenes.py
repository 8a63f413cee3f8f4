"""Every screen and dialog: the keys that lead to it, in short walks that each begin with a new store and browser."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace


class Scene(Struct, frozen=True):
    """A picture: the keys that lead to it from the scene before, and the keys that lead away again (`back`).

    `text:…` types a text, with `_` for a blank. `window` is the title of the window that lies over the screen.
    Toasts are removed before the picture is taken, unless `toasts` is set.
    """

    name: str
    keys: str = ""
    back: str = ""
    window: str = ""
    toasts: bool = False


class Walk(Struct, frozen=True):
    """Scenes in one browser: the screen that they show, and the keys that lead to the first of them."""

    screen: str
    start: str
    scenes: tuple[Scene, ...]


FIRST_SESSION = ""
SECOND_SESSION = "down"
INTO_TREE = "left g down right g enter"

LISTS = (
    Walk(
        "browse",
        SECOND_SESSION,
        (
            Scene("browse"),
            Scene("browse-projects", "left", "right"),
            Scene("browse-preview", "right", "left"),
        ),
    ),
    Walk(
        "browse",
        SECOND_SESSION,
        (
            Scene("all-projects", "tab", "tab"),
            Scene("threaded", "ctrl+s", "ctrl+s ctrl+s ctrl+s ctrl+s"),
            Scene("families", "run:families", "run:families"),
            Scene("hidden", "run:hidden", "run:hidden"),
            Scene("repositories", "run:repositories", "run:repositories"),
        ),
    ),
    Walk(
        "browse",
        FIRST_SESSION,
        (
            Scene("paths", "ctrl+p", "ctrl+p"),
            Scene("named", "ctrl+n", "ctrl+n"),
            Scene("no-preview", "v", "v"),
            Scene("zoom", "z", "z"),
            Scene("pinned", "p", "p"),
            Scene("archived-nothing", "run:archived", "run:archived"),
        ),
    ),
    Walk(
        "browse",
        FIRST_SESSION,
        (
            Scene("help", "question_mark", "escape", window="Keys that work here"),
            Scene("actions", "x", "escape", window="Actions"),
            Scene("palette", "colon", window="Commands"),
            Scene("palette-found", "text:so", window="Commands"),
            Scene("palette-nothing", "text:zzz", "escape", window="Commands"),
        ),
    ),
)
"""The lists and the windows over them."""

STATISTICS = (
    Walk(
        "stats",
        f"{SECOND_SESSION} dollar_sign",
        (
            Scene("stats"),
            Scene("stats-tables", "run:stats_table", window="Table"),
            Scene("stats-sessions", "down enter"),
            Scene("stats-models-by-week", "run:stats_table down down enter run:stats_period down enter"),
            Scene("stats-of-a-model", "enter"),
            Scene("stats-last-month", "escape run:stats_times down down enter ctrl+s"),
            Scene("stats-filtered", "run:stats_times enter slash text:refactor"),
        ),
    ),
    Walk(
        "stats",
        f"{SECOND_SESSION} slash text:zzz escape dollar_sign",
        (Scene("stats-nothing"),),
    ),
    Walk(
        "stats",
        f"{SECOND_SESSION} slash text:postgres escape dollar_sign run:stats_table down enter",
        (Scene("stats-one-session"),),
    ),
)
"""What the sessions cost."""

CLEANING = (
    Walk("browse", SECOND_SESSION, (Scene("export", "x t", "escape", window="Export"),)),
    Walk("doctor", f"{FIRST_SESSION} exclamation_mark", (Scene("doctor"), Scene("doctor-marked", "space space"))),
    Walk(
        "cleanup",
        f"{FIRST_SESSION} run:cleanup",
        (
            Scene("cleanup"),
            Scene("cleanup-marked", "A"),
            Scene("cleanup-question", "ctrl+d", "escape", window="Clean up session?"),
        ),
    ),
)
"""What could be mended, and what could go."""

SEARCHES = (
    Walk(
        "browse",
        f"{SECOND_SESSION} slash",
        (
            Scene("search-empty"),
            Scene("search", "text:auth"),
            Scene("search-results", "escape down"),
            Scene("search-preview", "right", "left"),
        ),
    ),
    Walk(
        "browse",
        f"{SECOND_SESSION} slash",
        (
            Scene("search-nothing", "text:zzzq"),
            Scene("search-bad-pattern", "ctrl+u r e colon asterisk"),
        ),
    ),
    Walk(
        "browse",
        f"{SECOND_SESSION} apostrophe",
        (
            Scene("labels"),
            Scene("labels-found", "text:jwt"),
            Scene("labels-nothing", "text:zzz"),
        ),
    ),
)
"""The search through all sessions, and the labels of all sessions."""

CHANGES = (
    Walk(
        "browse",
        FIRST_SESSION,
        (
            Scene("rename", "ctrl+r", "escape", window="Rename"),
            Scene("fork", "f", window="Fork"),
            Scene("fork-refused", "text:/nowhere enter", "escape", window="Fork", toasts=True),
            Scene("copy-menu", "y", "escape", window="Copy"),
            Scene("resume-choices", "R", "escape", window="Resume in pi"),
        ),
    ),
    Walk(
        "browse",
        FIRST_SESSION,
        (
            Scene("changes-empty", "U", "escape", window="Undo and trash"),
            Scene("nothing-to-undo", "u", toasts=True),
        ),
    ),
    Walk(
        "browse",
        FIRST_SESSION,
        (
            Scene("selected", "space space space"),
            Scene("rename-many", "ctrl+r", "escape", window="Rename"),
            Scene("delete-many", "ctrl+d", window="Delete 3 sessions?"),
            Scene("delete-for-good", "down down enter", "escape escape", window="Delete permanently"),
        ),
    ),
    Walk(
        "browse",
        "g down down",
        (
            Scene("delete", "ctrl+d", window="Delete session?"),
            Scene("deleted", "enter", toasts=True),
            Scene("trash", "U", "escape", window="Undo and trash"),
        ),
    ),
    Walk(
        "browse",
        "g down down",
        (
            Scene("archive", "x a", window="Archive?"),
            Scene("archived-toast", "enter", toasts=True),
            Scene("archived", "run:archived", "run:archived"),
            Scene("changes", "U", "escape", window="Undo and trash"),
        ),
    ),
    Walk(
        "browse",
        "left G",
        (
            Scene("moved", "x m", window="Relocate"),
            Scene("moved-nowhere", "ctrl+u text:/nowhere/at/all enter", "escape", window="Relocate"),
            Scene("moved-shown", "x m enter", "escape escape", window="Relocate"),
        ),
    ),
    Walk(
        "browse",
        "left G right",
        (
            Scene("resume-missing", "r", window="Directory missing"),
            Scene("resume-elsewhere", "enter", "escape", window="Resume in another directory"),
        ),
    ),
)
"""Changes of sessions, made from the lists."""

TREES = (
    Walk(
        "session",
        INTO_TREE,
        (
            Scene("session"),
            Scene("session-entry", "g down enter"),
            Scene("session-unfolded", "run:open_all", "run:open_all escape full_stop enter"),
            Scene("session-context", "tab"),
            Scene("session-diff-none", "tab"),
            Scene("session-raw", "tab"),
        ),
    ),
    Walk(
        "session",
        INTO_TREE,
        (
            Scene("session-user-only", "3", "3"),
            Scene("session-labelled-only", "4 run:label_times", "run:label_times 4"),
            Scene("session-all-rows", "5", "5"),
            Scene("session-folded", "g left", "right"),
        ),
    ),
    Walk("session", INTO_TREE, (Scene("session-compare", "G d"),)),
    Walk(
        "session",
        INTO_TREE,
        (
            Scene("session-search", "slash text:cookie"),
            Scene("session-found", "enter", "escape"),
            Scene("session-search-nothing", "slash text:zzz", "escape"),
        ),
    ),
    Walk(
        "session",
        INTO_TREE,
        (
            Scene("session-help", "question_mark", "escape", window="Keys that work here"),
            Scene("session-actions", "g down x", window="Actions"),
            Scene("check-out", "c", window="Check out?"),
            Scene("check-out-question", "enter", "escape", window="Unsafe check out"),
            Scene("label", "g L", "escape", window="Label"),
            Scene("fork-here", "f", "escape", window="Fork up to here"),
            Scene("copy-entry", "y", "escape", window="Copy"),
            Scene("resume-where", "r", "escape", window="Resume in pi"),
            Scene("resume-from-entry", "R", "escape", window="Resume in pi"),
            Scene("session-rename", "ctrl+r", "escape", window="Rename"),
            Scene("entry-selected", "G space", "escape"),
            Scene("prune", "x b", "escape", window="Prune"),
            Scene("prune-preview", "x b down enter", "escape", window="Prune"),
            Scene("shrink", "x s", "escape", window="Shrink"),
            Scene("session-no-damage", "exclamation_mark", toasts=True),
        ),
    ),
    Walk(
        "session",
        "slash text:import space text:product enter enter",
        (
            Scene("damaged"),
            Scene("damaged-raw", "enter tab tab"),
        ),
    ),
    Walk(
        "doctor",
        "slash text:import space text:product enter enter exclamation_mark",
        (Scene("doctor-of-one"), Scene("mend", "x w", "escape", window="Mend")),
    ),
)
"""A session's tree, the views beside it and the windows over it; the last walk shows a damaged file."""

MODES = ("pick", "own-command", "own-command-said")
"""What the command line and the settings make of the lists."""

STATES = ("welcome", "no-sessions", "gone", "session-gone", "progress", "progress-stopping", "loading")
"""What the demo store does not show."""

STATISTICS_STATES = ("stats-10000",)
"""What statistics the demo store does not show."""

OTHERS = (
    Scene("resume-in-use", "G r", "escape", window="Resume in pi"),
    Scene("delete-in-use", "g ctrl+d", window="Delete session?"),
    Scene("trash-refused", "down enter", "escape", window="The trash refused the file"),
    Scene("in-use", "enter L text:mine enter", "escape escape", window="In use"),
)
"""Questions that are asked while other programs use the sessions, or when the trash is full."""

GROUPS = {
    "lists": LISTS,
    "statistics": STATISTICS,
    "cleaning": CLEANING,
    "searches": SEARCHES,
    "changes": CHANGES,
    "trees": TREES,
}

SCREENS = {walk.screen for walks in GROUPS.values() for walk in walks}

_SHORT = (
    "browse",
    "cleanup",
    "help",
    "palette",
    "selected",
    "rename",
    "delete-many",
    "delete-for-good",
    "session",
    "stats",
)
_SHORT_SEARCHES = ("search-empty", "search", "search-results", "search-preview")


def _is_short(scene: Scene) -> bool:
    if scene.name.startswith("search"):
        return scene.name in _SHORT_SEARCHES
    return scene.name.startswith(_SHORT)


def _shortened(walks: tuple[Walk, ...]) -> tuple[Walk, ...]:
    kept = [replace(walk, scenes=tuple(filter(_is_short, walk.scenes))) for walk in walks]
    return tuple([walk for walk in kept if walk.scenes])


SHORT = {group: _shortened(walks) for group, walks in GROUPS.items()}
"""Walks with one picture of each kind."""
