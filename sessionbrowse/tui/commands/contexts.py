"""The places in the interface where commands can be given, and which of them hold at the same time."""

from __future__ import annotations

# Places where a command can be given. A screen lists those that hold now, the nearest first.
EVERYWHERE = "everywhere"
LIST = "list"  # the browse screen, in any pane
PROJECTS = "projects"
SESSIONS = "sessions"
PREVIEW = "preview"
SESSION = "session"  # the session screen, in any pane
TREE = "tree"
VIEW = "view"
OVERLAY = "overlay"  # help and palette
WELCOME = "welcome"  # no session anywhere
TYPING = "typing"  # a filter line is focused
SEARCHING = "searching"  # the search line is focused
RESULTS = "results"
RESULTS_VIEW = "results view"
FOUND = "found"  # search and checkpoints, in any pane
CHECKPOINTS = "checkpoints"
DIALOG = "dialog"  # a question over a screen
PROMPT = "prompt"  # the line of a dialog is focused
WORKING = "working"  # changes under way

CONTEXT_NAMES = {
    EVERYWHERE: "everywhere",
    LIST: "lists",
    PROJECTS: "projects",
    SESSIONS: "sessions",
    PREVIEW: "preview",
    SESSION: "session",
    TREE: "tree",
    VIEW: "entry, context, raw",
    OVERLAY: "help, palette",
    WELCOME: "first run",
    TYPING: "filter line",
    SEARCHING: "search line",
    RESULTS: "search results",
    RESULTS_VIEW: "preview of a result",
    FOUND: "search, checkpoints",
    CHECKPOINTS: "checkpoints",
    DIALOG: "questions",
    PROMPT: "questions with a line",
    WORKING: "work under way",
}
"""Each place and how a person calls it."""

CONTEXT_STACKS = (
    (PROJECTS, LIST, EVERYWHERE),
    (SESSIONS, LIST, EVERYWHERE),
    (PREVIEW, LIST, EVERYWHERE),
    (TREE, SESSION, EVERYWHERE),
    (VIEW, SESSION, EVERYWHERE),
    (OVERLAY, EVERYWHERE),
    (WELCOME, EVERYWHERE),
    (TYPING,),
    (SEARCHING,),
    (RESULTS, FOUND, EVERYWHERE),
    (RESULTS_VIEW, FOUND, EVERYWHERE),
    (CHECKPOINTS, FOUND, EVERYWHERE),
    (DIALOG, EVERYWHERE),
    (PROMPT,),
    (WORKING, EVERYWHERE),
)
"""The places that can hold at the same time; a key means one thing in each of these."""
