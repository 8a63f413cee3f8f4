"""The contexts in which commands are available: screens, panes and text lines."""

from __future__ import annotations

# Each context is the name that help and docs give to it. Several apply at a time; a screen lists them with the
# narrowest first (pane, screen, everywhere).
EVERYWHERE = "everywhere"
LIST = "lists"  # Active on the screen that lists projects and sessions, in any pane.
PROJECTS = "projects"
SESSIONS = "sessions"
PREVIEW = "preview"
SESSION = "session"  # Active on the screen of one session, in any pane.
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
