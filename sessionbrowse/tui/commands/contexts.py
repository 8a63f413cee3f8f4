"""The contexts in which commands are available: screens, panes and text lines."""

from __future__ import annotations

# A screen lists its current contexts, the narrowest first.
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
"""The name of each context in help and README."""

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
"""The contexts that can be active at the same time; in each group a key has one meaning."""
