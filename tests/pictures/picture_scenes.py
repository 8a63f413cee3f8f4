"""Every screen and dialog: what is pressed, one after the other, and which pictures are taken on the way."""

from __future__ import annotations

from msgspec import Struct


class Scene(Struct, frozen=True):
    """A picture: the keys that lead to it from where the one before left off, and those that lead away again.

    `text:…` types a text, with `_` for a blank. `window` is the title of the window that stands over the screen then.
    A picture that shows toasts says so: else they are taken away.
    """

    name: str
    keys: str = ""
    back: str = ""
    window: str = ""
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
    Scene("help", "question_mark", "escape", window="Keys that work here"),
    Scene("palette", "colon", window="Commands"),
    Scene("palette-found", "text:so", window="Commands"),
    Scene("palette-nothing", "text:zzz", "escape", window="Commands"),
)
"""The lists and what lies over them."""

CHANGES = (
    Scene("rename", "ctrl+r", "escape", window="Rename"),
    Scene("fork", "f", window="Fork"),
    Scene("fork-refused", "text:/nowhere enter", "escape", window="Fork", toasts=True),
    Scene("copy-menu", "Y", "escape", window="Copy"),
    Scene("resume-choices", "R", "escape", window="Resume in pi"),
    Scene("trash-empty", "t", "escape", window="In the trash: choose what to bring back"),
    Scene("changes-empty", "U", "escape", window="Changes that can be taken back"),
    Scene("nothing-to-undo", "u", toasts=True),
    Scene("selected", "space space space"),
    Scene("rename-many", "ctrl+r", "escape", window="Rename"),
    Scene("delete-many", "ctrl+d", window="Delete 3 sessions?"),
    Scene("delete-for-good", "down down enter", "escape escape", window="Delete for good"),
    Scene("delete", "g down down ctrl+d", window="Delete session?"),
    Scene("deleted", "enter", toasts=True),
    Scene("trash", "t", "escape u", window="In the trash: choose what to bring back"),
    Scene("archived-toast", "a", toasts=True),
    Scene("archived", "x", "x"),
    Scene("changes", "U", "escape u", window="Changes that can be taken back"),
    Scene("moved", "left G M", window="Project moved"),
    Scene("moved-nowhere", "ctrl+u text:/nowhere/at/all enter", "escape", window="Project moved"),
    Scene("moved-shown", "M enter", "escape escape right", window="Project moved"),
    Scene("resume-missing", "left G right r", window="The directory is gone"),
    Scene("resume-elsewhere", "enter", "escape left g right", window="Resume in another directory"),
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
    Scene("session-help", "question_mark", "escape", window="Keys that work here"),
    Scene("check-out-question", "g down c", "escape g", window="Between a call and its result"),
    Scene("label", "m", "escape", window="Label"),
    Scene("fork-here", "f", "escape", window="Fork up to here"),
    Scene("copy-entry", "Y", "escape", window="Copy"),
    Scene("resume-from-entry", "R", "escape", window="Resume in pi"),
    Scene("session-rename", "ctrl+r", "escape", window="Rename"),
    Scene("session-no-damage", "exclamation_mark", toasts=True),
)
"""A session's tree, what stands beside it, and what lies over it."""

SEARCH = (
    Scene("search-empty", "ctrl+f"),
    Scene("search", "text:auth"),
    Scene("search-results", "tab"),
    Scene("search-preview", "tab", "slash"),
    Scene("search-nothing", "ctrl+u text:zzzq"),
    Scene("search-help", "tab question_mark", "escape", window="Keys that work here"),
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
    Scene("damage", "exclamation_mark", "escape", window="Damage in this file"),
    Scene("damaged-raw", "enter tab tab"),
)
"""A session whose file is damaged."""

OTHERS = (
    Scene("resume-in-use", "G r", "escape", window="Resume in pi"),
    Scene("delete-in-use", "g ctrl+d", window="Delete session?"),
    Scene("trash-refused", "enter", "escape", window="The trash does not take it"),
    Scene("in-use", "enter m text:mine enter", "escape escape", window="In use"),
)
"""What is asked where other programs are at work, or the trash takes nothing."""

WALK = (
    *[("browse", scene) for scene in BROWSE],
    *[("search", scene) for scene in SEARCH],
    *[("checkpoints", scene) for scene in CHECKPOINTS],
    *[("browse", scene) for scene in CHANGES],
    *[("session", scene) for scene in SESSION],
)
"""The screen that each picture is of, whatever window lies over it, and the picture."""

_SHORT = ("browse", "help", "palette", "selected", "rename", "delete-many", "delete-for-good", "session")
SHORT = (
    *[(screen, scene) for screen, scene in WALK if scene.name.startswith(_SHORT)],
    ("search", Scene("search-empty", "escape escape ctrl+f")),
    *[("search", scene) for scene in SEARCH[1:4]],
)
"""One picture of each kind."""

WALKS = (WALK, tuple([("session", scene) for scene in DAMAGE]))
"""Each from a store and a browser of its own on."""
