"""Every screen and dialog: what is pressed, one after the other, and which pictures are taken on the way."""

from __future__ import annotations

from msgspec import Struct


class Scene(Struct, frozen=True):
    """A picture: the keys that lead to it from where the one before left off, and those that lead away again.

    `text:…` types a text, with `_` for a blank. A picture that shows toasts says so: else they are taken away.
    """

    name: str
    keys: str = ""
    back: str = ""
    toasts: bool = False


BROWSE = (
    Scene("browse", "down"),
    Scene("browse-folders", "left", "right"),
    Scene("browse-preview", "right", "left"),
    Scene("filter", "slash text:auth"),
    Scene("filter-nothing", "text:zzz", "escape"),
    Scene("filter-bad-pattern", "slash text:re:(", "escape"),
    Scene("all-folders", "tab", "tab"),
    Scene("threaded", "ctrl+s", "ctrl+s ctrl+s ctrl+s ctrl+s"),
    Scene("families", "O", "O"),
    Scene("hidden", "full_stop", "full_stop"),
    Scene("repositories", "w", "w"),
    Scene("paths", "ctrl+p", "ctrl+p"),
    Scene("named", "ctrl+n", "ctrl+n"),
    Scene("no-preview", "v", "v"),
    Scene("zoom", "z", "z"),
    Scene("pinned", "p", "p"),
    Scene("archived-nothing", "x", "x"),
    Scene("help", "question_mark", "escape"),
    Scene("palette", "colon"),
    Scene("palette-found", "text:so"),
    Scene("palette-nothing", "text:zzz", "escape"),
)
"""The lists and what lies over them."""

CHANGES = (
    Scene("rename", "ctrl+r", "escape"),
    Scene("fork", "f"),
    Scene("fork-refused", "text:/nowhere enter", toasts=True),
    Scene("copy-menu", "Y", "escape"),
    Scene("resume-choices", "R", "escape"),
    Scene("trash-empty", "t", "escape"),
    Scene("changes-empty", "U", "escape"),
    Scene("nothing-to-undo", "u", toasts=True),
    Scene("selected", "space space space"),
    Scene("rename-many", "ctrl+r", "escape"),
    Scene("delete-many", "ctrl+d"),
    Scene("delete-for-good", "down down enter", "escape escape"),
    Scene("delete", "g down down ctrl+d"),
    Scene("deleted", "enter", toasts=True),
    Scene("trash", "t", "escape u"),
    Scene("archived-toast", "a", toasts=True),
    Scene("archived", "x", "x"),
    Scene("changes", "U", "escape u"),
    Scene("moved", "left G M"),
    Scene("moved-refused", "ctrl+u text:/nowhere/at/all enter", "escape", toasts=True),
    Scene("moved-shown", "M enter", "escape escape right"),
    Scene("resume-missing", "left G right r"),
    Scene("resume-elsewhere", "enter", "escape left g right"),
)
"""What changes sessions, from the lists."""

SESSION = (
    Scene("session", "left g down right g enter"),
    Scene("session-entry", "g down enter"),
    Scene("session-unfolded", "O", "O escape full_stop enter"),
    Scene("session-context", "tab"),
    Scene("session-raw", "tab"),
    Scene("session-diff-none", "tab", "tab escape full_stop"),
    Scene("session-user-only", "3", "3"),
    Scene("session-labelled-only", "4 T", "T 4"),
    Scene("session-all-rows", "5", "5"),
    Scene("session-folded", "g space", "space"),
    Scene("session-compare", "G D", "tab left full_stop"),
    Scene("session-search", "slash text:cookie"),
    Scene("session-found", "enter", "escape"),
    Scene("session-search-nothing", "slash text:zzz", "escape"),
    Scene("session-help", "question_mark", "escape"),
    Scene("check-out-question", "g down c", "escape g"),
    Scene("label", "m", "escape"),
    Scene("fork-here", "f", "escape"),
    Scene("copy-entry", "Y", "escape"),
    Scene("resume-from-entry", "R", "escape"),
    Scene("session-rename", "ctrl+r", "escape"),
    Scene("session-no-damage", "exclamation_mark", toasts=True),
)
"""A session's tree, what stands beside it, and what lies over it."""

SEARCH = (
    Scene("search-empty", "ctrl+f"),
    Scene("search", "text:auth"),
    Scene("search-results", "tab"),
    Scene("search-preview", "tab", "slash"),
    Scene("search-nothing", "ctrl+u text:zzzq"),
    Scene("search-help", "tab question_mark", "escape"),
    Scene("search-bad-pattern", "slash ctrl+u r e colon left_parenthesis", "ctrl+u escape"),
)
"""The search through all sessions."""

CHECKPOINTS = (
    Scene("checkpoints", "apostrophe"),
    Scene("checkpoints-found", "slash text:jwt"),
    Scene("checkpoints-nothing", "text:zzz", "escape escape"),
)
"""The labels of all sessions."""

DAMAGE = (
    Scene("damaged", "slash text:import space text:product enter enter"),
    Scene("damage", "exclamation_mark", "escape"),
    Scene("damaged-raw", "enter tab tab"),
)
"""A session whose file is damaged."""

WALK = (
    *[("browse", scene) for scene in BROWSE],
    *[("search", scene) for scene in SEARCH],
    *[("checkpoints", scene) for scene in CHECKPOINTS],
    *[("browse", scene) for scene in CHANGES],
    *[("session", scene) for scene in SESSION],
)
"""The screen that each picture is of, whatever window lies over it, and the picture."""

_SHORT = ("browse", "help", "palette", "rename", "delete-many", "delete-for-good", "session")
SHORT = (
    *[(screen, scene) for screen, scene in WALK if scene.name.startswith(_SHORT)],
    ("search", Scene("search-empty", "escape escape ctrl+f")),
    *[("search", scene) for scene in SEARCH[1:4]],
)
"""One picture of each kind."""

WALKS = (WALK, tuple([("session", scene) for scene in DAMAGE]))
"""Each from a store and a browser of its own on."""
