"""The contexts in which commands are available: screens, panes and text lines."""

from __future__ import annotations

# A screen lists the contexts that apply now, the narrowest first (pane, screen, everywhere).
EVERYWHERE = "everywhere"
LIST = "list"  # the lists of folders and sessions, in any pane
PROJECTS = "projects"
SESSIONS = "sessions"
PREVIEW = "preview"
SESSION = "session"  # the session screen, in any pane
TREE = "tree"
VIEW = "view"
HELP = "help"
OVERLAY = "overlay"  # help and palette
WELCOME = "welcome"  # the screen of a user without sessions
TYPING = "typing"  # a filter line is focused
SEARCHING = "searching"  # the search line is focused
RESULTS = "results"
RESULTS_VIEW = "results view"
FOUND = "found"  # search and checkpoints, in any pane
CHECKPOINTS = "checkpoints"
STATS = "stats"  # the statistics
DOCTOR = "doctor"  # the damage of sessions
CLEANUP = "cleanup"  # the sessions to clean up
REVIEW = "review"  # the secrets to mask
DIALOG = "dialog"  # a dialog that asks a question
PROMPT = "prompt"  # the line of a dialog is focused
WORKING = "working"  # the progress window of running changes

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
    TYPING: "filter line",
    SEARCHING: "search line",
    RESULTS: "search results",
    RESULTS_VIEW: "preview of a result",
    FOUND: "search, checkpoints",
    CHECKPOINTS: "checkpoints",
    STATS: "statistics",
    DOCTOR: "doctor",
    CLEANUP: "clean-up",
    REVIEW: "review of secrets",
    DIALOG: "dialogs",
    PROMPT: "dialogs with a text line",
    WORKING: "work under way",
}
"""The name of each context in help and README."""

CONTEXT_STACKS = (
    (PROJECTS, LIST, EVERYWHERE),
    (SESSIONS, LIST, EVERYWHERE),
    (PREVIEW, LIST, EVERYWHERE),
    (TREE, SESSION, EVERYWHERE),
    (VIEW, SESSION, EVERYWHERE),
    (HELP, OVERLAY, EVERYWHERE),
    (OVERLAY, EVERYWHERE),
    (WELCOME, EVERYWHERE),
    (TYPING,),
    (SEARCHING,),
    (RESULTS, FOUND, EVERYWHERE),
    (RESULTS_VIEW, FOUND, EVERYWHERE),
    (CHECKPOINTS, FOUND, EVERYWHERE),
    (STATS, EVERYWHERE),
    (DOCTOR, EVERYWHERE),
    (CLEANUP, EVERYWHERE),
    (REVIEW, EVERYWHERE),
    (DIALOG, EVERYWHERE),
    (PROMPT,),
    (WORKING, EVERYWHERE),
)
"""The contexts that can be active at the same time; within each tuple a key must have only one meaning."""
