"""The contexts in which commands are available: screens, panes and text lines."""

from __future__ import annotations

# Several contexts apply at a time; a screen lists them with the narrowest first (pane, screen, everywhere).
EVERYWHERE = "everywhere"
LIST = "list"  # Active on the screen that lists projects and sessions, in any pane.
PROJECTS = "projects"
SESSIONS = "sessions"
PREVIEW = "preview"
SESSION = "session"  # Active on the screen of one session, in any pane.
TREE = "tree"
TREE_LINE = "tree search"  # Active while a tree's search line is focused.
VIEW = "view"
HELP = "help"
OVERLAY = "overlay"  # Active on the help screen and in the command palette.
WELCOME = "welcome"
TYPING = "typing"  # Active while a search line is focused.
SEARCHING = "searching"  # Active while the search line of the session list is focused.
STATS = "stats"
DOCTOR = "doctor"  # Active on the screen that lists problems of sessions.
CLEANUP = "cleanup"
REVIEW = "review"  # Active on the screen that lists secrets to mask.
DIALOG = "dialog"
PROMPT = "prompt"
WORKING = "working"  # Active while the progress window is open.

CONTEXT_NAMES = {
    EVERYWHERE: "everywhere",
    LIST: "lists",
    PROJECTS: "projects",
    SESSIONS: "sessions",
    PREVIEW: "preview",
    SESSION: "session",
    TREE: "tree",
    VIEW: "entry, context, raw",
    HELP: "help",
    OVERLAY: "help, palette",
    WELCOME: "first run",
    TREE_LINE: "search line of a tree",
    TYPING: "search line of a list",
    SEARCHING: "search line of sessions",
    STATS: "cost",
    DOCTOR: "problems",
    CLEANUP: "what could go",
    REVIEW: "secrets",
    DIALOG: "dialogs",
    PROMPT: "dialogs with a text line",
    WORKING: "work under way",
}
"""The name of each context in help and docs."""

CONTEXT_STACKS = (
    *[(pane, LIST, EVERYWHERE) for pane in (PROJECTS, SESSIONS, PREVIEW)],
    *[(pane, SESSION, EVERYWHERE) for pane in (TREE, VIEW)],
    (HELP, OVERLAY, EVERYWHERE),
    *[(context, EVERYWHERE) for context in (OVERLAY, WELCOME, STATS, DOCTOR, CLEANUP, REVIEW, DIALOG, WORKING)],
    *[(context,) for context in (TYPING, TREE_LINE, SEARCHING, PROMPT)],
)
"""Each tuple: contexts that are active at the same time, in which a key must run only one command."""
