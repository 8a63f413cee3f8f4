"""The one table of commands: footer, palette, `?` help and the README's key table come from it.

A command is data; what it does is the method `do_<id>` of the screen it is given on. Which keys it has for this user
is the business of `keymap`.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

# Places where a command can be given. A screen lists those that hold now, the nearest first.
EVERYWHERE = "everywhere"
LIST = "list"  # the browse screen, whatever pane has the keys
PROJECTS = "projects"
SESSIONS = "sessions"
PREVIEW = "preview"
SESSION = "session"  # the session screen, whatever pane has the keys
TREE = "tree"
VIEW = "view"
OVERLAY = "overlay"  # help and palette
WELCOME = "welcome"  # no session anywhere
TYPING = "typing"  # a filter line has the keys
SEARCHING = "searching"  # the line of the search has the keys
RESULTS = "results"
RESULTS_VIEW = "results view"
FOUND = "found"  # search and checkpoints, whatever pane has the keys
CHECKPOINTS = "checkpoints"
DIALOG = "dialog"  # a question over a screen
PROMPT = "prompt"  # the line of a question has the keys
WORKING = "working"  # changes under way

PLACES = {
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

TOGETHER = (
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


class Here(Struct, frozen=True, kw_only=True):
    """What a command may ask of the place it is given in, to say why it cannot work."""

    has_rows: bool = True
    has_session: bool = False
    has_filter: bool = False
    foldable: bool = False
    has_folder: bool = True
    has_family: bool = False
    folds_families: bool = True
    branch_points: int = 0
    labels: int = 0
    blocks: bool = False
    image: bool = False
    problems: int = 0
    has_project: bool = False
    has_entry: bool = False
    is_searching: bool = False
    has_entry_id: bool = False


Reason = Callable[[Here], str | None]


class Command(Struct, frozen=True, kw_only=True):
    """One row of the table.

    `title` is a verb, two words at most; `help` one sentence. `footer` orders the bar at the bottom (0: not there).
    `typing` commands also work while a filter line has the keys.
    """

    id: str
    keys: tuple[str, ...]
    title: str
    help: str
    where: tuple[str, ...]
    group: str
    footer: int = 0
    typing: bool = False
    reason: Reason | None = None

    def unavailable(self, here: Here) -> str | None:
        """Return why the command cannot work here, as a sentence; None if it can."""
        return self.reason(here) if self.reason is not None else None


def _needs_session(here: Here) -> str | None:
    return None if here.has_session else "There is no session under the cursor."


def _needs_rows(here: Here) -> str | None:
    return None if here.has_rows else "There is nothing to open here."


def _needs_filter(here: Here) -> str | None:
    return None if here.has_filter else "Nothing is being searched: press / first."


def _needs_fold(here: Here) -> str | None:
    return None if here.foldable else "This row has nothing to fold: only branch points and roots do."


def _needs_folder(here: Here) -> str | None:
    return None if here.has_folder else "There is no folder to switch to: no session is under this directory."


def _needs_block(here: Here) -> str | None:
    return None if here.blocks else "Nothing is folded on this page."


def _needs_image(here: Here) -> str | None:
    return None if here.image else "No image is on this page."


def _needs_families(here: Here) -> str | None:
    return None if here.folds_families else "Threads, and what a filter finds, show every session by itself."


def _needs_family(here: Here) -> str | None:
    return _needs_families(here) or (None if here.has_family else "No other session belongs to this one.")


def _needs_branches(here: Here) -> str | None:
    return None if here.branch_points else "This session has one branch only."


def _needs_labels(here: Here) -> str | None:
    return None if here.labels else "No entry of this session has a label."


def _needs_damage(here: Here) -> str | None:
    return None if here.problems else "Nothing is damaged in this file."


def _needs_project(here: Here) -> str | None:
    return None if here.has_project else "There is no folder under the cursor whose directory could have moved."


def _needs_entry(here: Here) -> str | None:
    return None if here.has_entry else "There is no entry with an id under the cursor."


def _needs_entry_id(here: Here) -> str | None:
    return None if here.has_entry_id else "The entry has no id, so no program can go on from it."


def _needs_search(here: Here) -> str | None:
    return None if here.is_searching else "No search is under way."


MOVE, OPEN, FIND, SHOW, TREE_GROUP, PROGRAM = "Move", "Open", "Find and sort", "Show", "Tree", "Program"
OWN = "Your own commands"
CHANGE = "Change"

GROUPS = (MOVE, OPEN, FIND, SHOW, TREE_GROUP, CHANGE, PROGRAM, OWN)
"""The groups of help and README, in order."""

_PANES = (PROJECTS, SESSIONS, PREVIEW)


def _row(
    id: str,
    keys: str,
    title: str,
    help: str,
    where: tuple[str, ...],
    group: str,
    *,
    footer: int = 0,
    typing: bool = False,
    reason: Reason | None = None,
) -> Command:
    return Command(
        id=id,
        keys=tuple(keys.split()),
        title=title,
        help=help,
        where=where,
        group=group,
        footer=footer,
        typing=typing,
        reason=reason,
    )


CHANGES: tuple[Command, ...] = (
    _row(
        "rename",
        "ctrl+r",
        "Rename",
        "Name the session; an empty name takes its name away.",
        (SESSIONS, PREVIEW, SESSION),
        CHANGE,
        footer=4,
        typing=True,
        reason=_needs_session,
    ),
    _row(
        "label",
        "L m",
        "Label",
        "Label the entry as a checkpoint; an empty label takes it away.",
        (TREE,),
        CHANGE,
        footer=4,
        reason=_needs_entry,
    ),
    _row(
        "checkout",
        "c",
        "Check out",
        "Let the agent resume at the entry; what the user said there goes to the clipboard.",
        (TREE,),
        CHANGE,
        footer=5,
        reason=_needs_entry,
    ),
    _row(
        "fork",
        "f",
        "Fork",
        "Make a new session of this one: in lists of all its branches, in the tree of the path up to the entry.",
        (SESSIONS, PREVIEW, TREE),
        CHANGE,
        footer=10,
        reason=_needs_session,
    ),
    _row(
        "delete",
        "ctrl+d delete ctrl+backspace",
        "Delete",
        "Move the session to the trash with all that belongs to it; asks first.",
        (SESSIONS, PREVIEW),
        CHANGE,
        footer=5,
        typing=True,
        reason=_needs_session,
    ),
    _row(
        "archive",
        "a",
        "Archive",
        "Take the session out of its agent's lists, or put an archived one back.",
        (SESSIONS, PREVIEW),
        CHANGE,
        footer=11,
        reason=_needs_session,
    ),
    _row("restore", "t", "Trash", "List the deleted sessions, and bring one back.", (LIST,), CHANGE),
    _row(
        "relocate",
        "M",
        "Project moved",
        "Tell the sessions of this directory where it is now, after it was moved or renamed; asks first.",
        (LIST,),
        CHANGE,
        footer=9,
        reason=_needs_project,
    ),
    _row(
        "select",
        "space",
        "Select",
        "Select the session, or not; changes are then made to all that are selected and shown.",
        (SESSIONS,),
        CHANGE,
        footer=6,
        reason=_needs_session,
    ),
    _row("select_up", "shift+up", "Select up", "Select upwards.", (SESSIONS,), CHANGE, reason=_needs_session),
    _row("select_down", "shift+down", "Select down", "Select downwards.", (SESSIONS,), CHANGE, reason=_needs_session),
    _row(
        "select_range",
        "V",
        "Select range",
        "Select all that the cursor passes from here on; once more ends that.",
        (SESSIONS,),
        CHANGE,
        reason=_needs_session,
    ),
    _row(
        "select_all",
        "A ctrl+a",
        "Select all",
        "Select all sessions that are shown, or none; Escape clears the selection.",
        (SESSIONS,),
        CHANGE,
        reason=_needs_session,
    ),
    _row(
        "undo",
        "u",
        "Undo",
        "Take the last change back that sessionbrowse made, also one of an earlier day.",
        (LIST, SESSION),
        CHANGE,
        footer=8,
    ),
    _row(
        "changes",
        "U",
        "Changes",
        "List the changes that can be taken back, and choose one.",
        (LIST, SESSION),
        CHANGE,
    ),
    _row("accept", "enter y", "Accept", "Take the answer, or what stands in the line.", (DIALOG, PROMPT), CHANGE),
    _row("cancel", "escape ctrl+c n q", "Cancel", "Go back; nothing is changed.", (DIALOG, PROMPT), CHANGE),
    _row(
        "stop", "escape ctrl+c", "Stop", "Stop after what is at work now; what is done stays done.", (WORKING,), CHANGE
    ),
)
"""What changes sessions, and the answers to its questions."""

TAKING: tuple[Command, ...] = (
    _row(
        "copy_menu",
        "Y",
        "Copy …",
        "Choose what to copy: text, raw line, ids, path, directory, the command that resumes.",
        (SESSIONS, PREVIEW, TREE, VIEW),
        OPEN,
        reason=_needs_session,
    ),
    _row(
        "edit",
        "e",
        "Open copy",
        "Open a copy of the entry in $VISUAL, $EDITOR or $PAGER; in Raw and in the lists one of the session's file.",
        (SESSIONS, PREVIEW, TREE, VIEW),
        OPEN,
        reason=_needs_session,
    ),
)
"""What takes a session's text elsewhere."""

READING: tuple[Command, ...] = (
    _row(
        "open_marked",
        "enter space",
        "Open fold",
        "Open or close the fold that is marked; an image is opened in the system's viewer.",
        (VIEW,),
        SHOW,
        footer=1,
        reason=_needs_block,
    ),
    _row(
        "open_block",
        "o",
        "Unfold",
        "Open or close the fold beside the tree that is marked: a long text, thinking, details.",
        (SESSION,),
        SHOW,
        reason=_needs_block,
    ),
    _row(
        "open_all",
        "O",
        "Unfold all",
        "Open all folds of the view, also of what is looked at next, or close them all.",
        (SESSION,),
        SHOW,
    ),
    _row(
        "next_block",
        "right_square_bracket",
        "Next fold",
        "Mark the next fold or image.",
        (VIEW,),
        SHOW,
        reason=_needs_block,
    ),
    _row(
        "previous_block",
        "left_square_bracket",
        "Fold before",
        "Mark the fold or image before.",
        (VIEW,),
        SHOW,
        reason=_needs_block,
    ),
    _row(
        "open_image",
        "i",
        "Open image",
        "Open the image that is marked, or else the first one shown, in the system's viewer.",
        (SESSION,),
        OPEN,
        reason=_needs_image,
    ),
    _row(
        "compare",
        "d",
        "Compare",
        "Mark the entry; on another entry compare the two branches from where they part; on the same one unmark it.",
        (TREE, VIEW),
        TREE_GROUP,
        footer=12,
        reason=_needs_rows,
    ),
    _row(
        "compare_leaf",
        "D",
        "Compare leaf",
        "Compare the entry's branch with the active one.",
        (TREE, VIEW),
        TREE_GROUP,
        reason=_needs_rows,
    ),
)
"""What looks closer at an entry."""
FINDING: tuple[Command, ...] = (
    _row(
        "search_all",
        "ctrl+f F",
        "Search all",
        "Search what was said in all sessions, on all branches, while typing.",
        (LIST,),
        FIND,
        footer=6,
        typing=True,
    ),
    _row("search_beyond", "F", "Search all", "Search all sessions, not only this one.", (SESSION,), FIND),
    _row(
        "checkpoints",
        "apostrophe",
        "Checkpoints",
        "List every label of every session.",
        (LIST, SESSION),
        FIND,
    ),
    _row(
        "open_found",
        "enter",
        "Go there",
        "Go to the entry in its session's tree; an example of the search is put into the line.",
        (SEARCHING, RESULTS, CHECKPOINTS),
        OPEN,
        footer=1,
        reason=_needs_rows,
    ),
    _row(
        "leave_found",
        "escape",
        "Back",
        "Go back to where you came from; the search stays as it is.",
        (SEARCHING, FOUND),
        OPEN,
        footer=9,
    ),
    _row("found_rows", "tab", "To results", "Give the keys to the results.", (SEARCHING, RESULTS_VIEW), FIND, footer=3),
    _row(
        "found_view",
        "tab right l",
        "To preview",
        "Give the keys to the preview.",
        (RESULTS, CHECKPOINTS),
        FIND,
        footer=4,
    ),
    _row(
        "found_line",
        "slash i",
        "Type",
        "Type in the line again.",
        (FOUND,),
        FIND,
        footer=3,
    ),
    _row("found_preview", "v", "Preview", "Show or hide the preview.", (FOUND,), SHOW, footer=7),
    _row(
        "search_tools",
        "ctrl+t",
        "With tools",
        "Search tool calls and results too, or what was said only.",
        (SEARCHING, RESULTS),
        FIND,
        footer=5,
    ),
    _row(
        "stop_search",
        "ctrl+g",
        "Stop",
        "Stop the search; what was found stays.",
        (SEARCHING, RESULTS),
        FIND,
        footer=8,
        reason=_needs_search,
    ),
    _row(
        "resume_there",
        "r",
        "Resume there",
        "Check the entry out, so that the session's agent goes on from there, and run it.",
        (CHECKPOINTS,),
        OPEN,
        footer=2,
        reason=_needs_entry_id,
    ),
    _row("search_again", "f5", "Look again", "Look at the disk again.", (SEARCHING, RESULTS, CHECKPOINTS), SHOW),
)
"""Looking beyond one list or session."""

COMMANDS: tuple[Command, ...] = (
    _row("up", "up k", "Up", "Move up by one row.", (EVERYWHERE,), MOVE, typing=True),
    _row("down", "down j", "Down", "Move down by one row.", (EVERYWHERE,), MOVE, typing=True),
    _row("page_up", "pageup", "Page up", "Move up by one page.", (EVERYWHERE,), MOVE, typing=True),
    _row("page_down", "pagedown", "Page down", "Move down by one page.", (EVERYWHERE,), MOVE, typing=True),
    _row("first", "home g", "First", "Move to the first row.", (EVERYWHERE,), MOVE),
    _row("last", "end G", "Last", "Move to the last row.", (EVERYWHERE,), MOVE),
    _row(
        "pane_left",
        "left h",
        "Left pane",
        "Give the keys to the pane on the left.",
        (*_PANES, VIEW, RESULTS_VIEW),
        MOVE,
    ),
    _row("pane_right", "right l", "Right pane", "Give the keys to the pane on the right.", _PANES, MOVE),
    _row(
        "open",
        "enter",
        "Open",
        "Go in: from a project to its sessions, to a session's tree, to an entry. Never starts a program.",
        (PROJECTS, SESSIONS, PREVIEW, TREE),
        OPEN,
        footer=1,
        reason=_needs_rows,
    ),
    _row(
        "back",
        "escape",
        "Back",
        "Clear the filter, or go back to where you came from.",
        (LIST, SESSION),
        OPEN,
        footer=9,
    ),
    _row(
        "resume",
        "r",
        "Resume",
        "Run the session's own agent on it in its directory; the browser comes back afterwards, or stays beside it.",
        (LIST, SESSION, RESULTS),
        OPEN,
        footer=2,
        reason=_needs_session,
    ),
    _row(
        "resume_as",
        "R",
        "Resume as",
        "Choose where to resume: here, in a tmux window or split, by a command; in the tree also from the entry.",
        (LIST, SESSION, RESULTS, CHECKPOINTS),
        OPEN,
        reason=_needs_session,
    ),
    _row(
        "filter",
        "slash",
        "Filter",
        'Filter the list while typing: words must all match, "a phrase" as it stands, re:pattern is a pattern.',
        (LIST, SESSION),
        FIND,
        footer=3,
    ),
    _row(
        "accept_filter",
        "enter",
        "Keep filter",
        "Give the keys back to the list, which stays filtered.",
        (TYPING,),
        FIND,
        footer=1,
    ),
    _row("clear_filter", "escape", "Clear filter", "Show all rows again.", (TYPING,), FIND, footer=2),
    _row(
        "scope",
        "tab",
        "Scope",
        "Switch the sessions between one folder and all folders.",
        (LIST,),
        FIND,
        footer=5,
        typing=True,
        reason=_needs_folder,
    ),
    _row(
        "sort",
        "ctrl+s",
        "Sort",
        "Change the order: newest, threaded (forks under their parent), name, size, cost; with a filter relevance.",
        (LIST,),
        FIND,
        footer=7,
        typing=True,
    ),
    _row(
        "named",
        "ctrl+n",
        "Named only",
        "Show only sessions that have a name, or all again.",
        (LIST,),
        FIND,
        footer=13,
        typing=True,
    ),
    _row(
        "hidden",
        "full_stop",
        "Show hidden",
        "Show the sessions of subagents and workflows too, or hide them again.",
        (LIST,),
        FIND,
    ),
    _row(
        "family",
        "o",
        "Open family",
        "Show or fold the forks, copies, runs of subagents and one-message stubs that belong to the session.",
        (LIST,),
        FIND,
        reason=_needs_family,
    ),
    _row("families", "O", "All families", "Show or fold all families.", (LIST,), FIND, reason=_needs_families),
    _row(
        "pin",
        "p",
        "Pin",
        "Keep the session at the top of its list, or no longer; what omp itself pinned is shown there too.",
        (SESSIONS, PREVIEW),
        FIND,
        reason=_needs_session,
    ),
    _row(
        "repositories",
        "w",
        "By repository",
        "Make one project of all worktrees and folders of a repository, or of each directory.",
        (LIST,),
        FIND,
    ),
    _row("archived", "x", "Archived", "Show the archived sessions, or those that are not.", (LIST,), FIND),
    _row("path", "ctrl+p", "Path", "Show the path of each session's file, or hide it.", (LIST,), SHOW, typing=True),
    _row("preview", "v", "Preview", "Show or hide the preview.", (LIST,), SHOW, footer=12),
    _row(
        "wider",
        "greater_than_sign",
        "Wider",
        "Make the pane wider that has the keys.",
        (LIST, SESSION),
        SHOW,
    ),
    _row("narrower", "less_than_sign", "Narrower", "Make the pane narrower.", (LIST, SESSION), SHOW),
    _row(
        "zoom", "z", "Zoom", "Give the pane that has the keys the whole screen, or give it back.", (LIST, SESSION), SHOW
    ),
    _row(
        "copy",
        "y ctrl+x",
        "Copy",
        "Copy: in lists the path of the session's file, in the tree and beside it the text of the entry.",
        (SESSIONS, PREVIEW, TREE, VIEW, FOUND),
        OPEN,
        reason=_needs_session,
    ),
    _row(
        "damage",
        "exclamation_mark",
        "Damage",
        "Show where the session's file is damaged, and how.",
        (SESSION,),
        SHOW,
        reason=_needs_damage,
    ),
    *TAKING,
    _row("reload", "f5", "Reload", "Read the disk again.", (LIST, SESSION, WELCOME), SHOW),
    _row("next_view", "tab", "Switch view", "Show the next of Entry, Context, Raw, Diff.", (SESSION,), SHOW, footer=4),
    _row("previous_view", "shift+tab", "View before", "Show the view before.", (SESSION,), SHOW),
    *READING,
    _row("tree_page_up", "left ctrl+b", "Page up", "Move up by one page, as in pi.", (TREE,), TREE_GROUP),
    _row("tree_page_down", "right ctrl+f", "Page down", "Move down by one page, as in pi.", (TREE,), TREE_GROUP),
    _row("fold", "ctrl+left alt+left h", "Fold", "Fold the branch, or jump to where it starts.", (TREE,), TREE_GROUP),
    _row(
        "unfold",
        "ctrl+right alt+right l",
        "Unfold",
        "Unfold the branch, or jump to the next branch point or the branch's end.",
        (TREE,),
        TREE_GROUP,
    ),
    _row(
        "toggle_fold",
        "space",
        "Fold rows",
        "Fold or unfold the row.",
        (TREE,),
        TREE_GROUP,
        footer=6,
        reason=_needs_fold,
    ),
    _row(
        "next_branch",
        "right_square_bracket",
        "Next branch",
        "Jump to the next branch point.",
        (TREE,),
        TREE_GROUP,
        reason=_needs_branches,
    ),
    _row(
        "previous_branch",
        "left_square_bracket",
        "Branch before",
        "Jump to the branch point before.",
        (TREE,),
        TREE_GROUP,
        reason=_needs_branches,
    ),
    _row(
        "next_turn",
        "alt+down",
        "Next turn",
        "Jump to the next row of the user or the assistant, as in omp.",
        (TREE,),
        TREE_GROUP,
    ),
    _row(
        "previous_turn",
        "alt+up",
        "Turn before",
        "Jump to the row of the user or the assistant before, as in omp.",
        (TREE,),
        TREE_GROUP,
    ),
    _row("leaf", "full_stop", "To leaf", "Jump to the leaf, where the agent would go on.", (TREE,), TREE_GROUP),
    _row(
        "filter_default",
        "1 ctrl+d alt+d",
        "Usual rows",
        "Show what the agent's own tree shows at first.",
        (TREE,),
        TREE_GROUP,
    ),
    _row(
        "filter_no_tools",
        "2 ctrl+t alt+t",
        "No tools",
        "Hide the results of tools too, or show them again.",
        (TREE,),
        TREE_GROUP,
    ),
    _row(
        "filter_user_only",
        "3 ctrl+u alt+u",
        "User only",
        "Show only what the user said, or all usual rows again.",
        (TREE,),
        TREE_GROUP,
    ),
    _row(
        "filter_labeled_only",
        "4 ctrl+l alt+l",
        "Labelled only",
        "Show only entries that have a label, or all usual rows again.",
        (TREE,),
        TREE_GROUP,
        reason=_needs_labels,
    ),
    _row(
        "filter_all",
        "5 ctrl+a alt+a",
        "All rows",
        "Show every entry that the agent's own tree can show, or the usual rows again.",
        (TREE,),
        TREE_GROUP,
    ),
    _row(
        "next_filter",
        "ctrl+o",
        "Choose rows",
        "Go through the five choices of rows.",
        (TREE,),
        TREE_GROUP,
        footer=5,
        typing=True,
    ),
    _row(
        "previous_filter",
        "ctrl+shift+o",
        "Rows before",
        "Go through the five choices of rows backwards.",
        (TREE,),
        TREE_GROUP,
        typing=True,
    ),
    _row(
        "label_times",
        "T",
        "Label times",
        "Show when each label was set, or hide it.",
        (TREE,),
        TREE_GROUP,
        reason=_needs_labels,
    ),
    _row(
        "next_hit",
        "n",
        "Next hit",
        "Jump to the next entry that the search found.",
        (SESSION,),
        FIND,
        reason=_needs_filter,
    ),
    _row(
        "previous_hit",
        "N",
        "Hit before",
        "Jump to the entry before that the search found.",
        (SESSION,),
        FIND,
        reason=_needs_filter,
    ),
    *FINDING,
    *CHANGES,
    _row("close", "escape q question_mark enter", "Close", "Close the help.", (OVERLAY,), PROGRAM, footer=1),
    _row(
        "demo",
        "enter",
        "Open demo",
        "Open a made-up store of all four agents in a temporary directory.",
        (WELCOME,),
        OPEN,
        footer=1,
    ),
    _row("help", "question_mark f1", "Help", "Show every key that works here.", (EVERYWHERE,), PROGRAM, footer=99),
    _row(
        "palette",
        "colon ctrl+backslash",
        "Commands",
        "Find a command by its name and run it.",
        (EVERYWHERE,),
        PROGRAM,
        footer=20,
    ),
    _row(
        "theme",
        "f2",
        "Theme",
        "Change the colours: dark, light, high contrast, the terminal's own.",
        (EVERYWHERE,),
        PROGRAM,
    ),
    _row("quit", "q ctrl+q ctrl+c", "Quit", "Leave sessionbrowse.", (EVERYWHERE,), PROGRAM, footer=30, typing=True),
)
"""Every command, in the order in which help lists them."""

BY_ID = {command.id: command for command in COMMANDS}
