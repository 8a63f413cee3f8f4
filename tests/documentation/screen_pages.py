"""The page `docs/screens.md`: each screen in some sentences, with its keys from the command table."""

from __future__ import annotations

from sessionbrowse.tui.commands import contexts
from sessionbrowse.tui.commands.keymap import Keys, key_label
from sessionbrowse.tui.commands.table import COMMANDS

Screen = tuple[str, str, str, tuple[str, ...]]
"""Title, text, the name of a picture in `screenshots/` (or ""), and the contexts whose keys are listed."""

SCREENS: tuple[Screen, ...] = (
    (
        "Lists",
        "The first screen: folders at the left, the sessions of the chosen folder in the middle, a preview at the "
        "right where there is room. A row shows name or first prompt, branches (`⌥`), labels (`⚑`), the folder if "
        "all are listed, the agent's letter, how the session ended if it did not end well (`!` interrupted, `■` "
        "aborted, `⊗` error, `◔` pending), age, messages and cost. `⊞1` stands for a fork or a subagent folded "
        "below; the preview tells what the family cost, each request counted once.",
        "browse",
        (contexts.LIST, contexts.PROJECTS, contexts.SESSIONS, contexts.PREVIEW),
    ),
    (
        "Filter line",
        "`/` filters the list while you type: names first, then sessions in which it was said. Esc clears the filter.",
        "",
        (contexts.TYPING,),
    ),
    (
        "Session",
        "The tree of one session at the left, the entry under the cursor at the right: whole, as the context that the "
        "model would receive there, as its raw line, or compared with another entry. A branch shows its cost where it "
        "begins; `•` marks the branch on which the agent resumes.",
        "session",
        (contexts.SESSION, contexts.TREE, contexts.VIEW),
    ),
    (
        "Context",
        "The second view of an entry. The gauge begins with the last answer's own usage, and adds an estimate of what "
        "came after it. Below it stands what fills the context, largest first; Enter on a row goes to that entry. The "
        "messages follow, and in their places the entries that are left out, with the reason. A compaction lists the "
        "files, commands and labels before it that its summary does not mention.",
        "context",
        (),
    ),
    (
        "Diff",
        "The fourth view: two branches below their last common entry, beside each other where there is room, with "
        "time, tokens, cost, tools and their errors, files with changed lines, and how each ended.",
        "diff",
        (),
    ),
    (
        "Search",
        "All sessions, best first: a row for each session, its hits below. [search.md](search.md) tells what a query "
        "can say. Enter opens the entry with its words marked; `n` goes on to the next hit, also in the next session.",
        "search-all",
        (contexts.SEARCHING, contexts.FOUND, contexts.RESULTS, contexts.RESULTS_VIEW),
    ),
    ("Checkpoints", "The labels of all sessions, newest first.", "", (contexts.CHECKPOINTS,)),
    (
        "Statistics",
        "Tokens and cost, each request counted once, wherever it was copied: a bar for each day, week or month, and "
        "tables by project, session, model, family, branch, agent and provider. Enter goes into a row.",
        "",
        (contexts.STATS,),
    ),
    (
        "Doctor",
        "Damage found in sessions, what each agent makes of it, and what repairs it. [damage.md](damage.md) lists all "
        "kinds.",
        "",
        (contexts.DOCTOR,),
    ),
    (
        "Clean-up",
        "Sessions that could go, with the reason; those that hold nothing of their own are marked at first.",
        "",
        (contexts.CLEANUP,),
    ),
    (
        "Review of secrets",
        "The secrets and names found in a session, each with its surroundings, before a masked copy is written.",
        "",
        (contexts.REVIEW,),
    ),
    (
        "Dialogs",
        "Questions, text lines and the progress of changes. Nothing changes before the answer.",
        "delete",
        (contexts.DIALOG, contexts.PROMPT, contexts.WORKING),
    ),
    (
        "Help, palette and first run",
        "`?` shows every key that works here, `:` finds a command by its name. A user without sessions sees where they "
        "are looked for, and how to open sample sessions.",
        "",
        (contexts.HELP, contexts.OVERLAY, contexts.WELCOME),
    ),
)


def screens() -> str:
    """Return the page in Markdown."""
    lines = [
        "# Screens",
        "",
        "Each screen, and the keys that work only there; those that work everywhere stand in the",
        "[README](../README.md#keys). Made by `make docs`.",
        "",
    ]
    for title, text, picture, places in SCREENS:
        lines += [f"## {title}", "", text, ""]
        if picture:
            lines += [f"![{title}](../screenshots/{picture}.svg)", ""]
        rows = _rows(places)
        lines += ["| key | does | where |", "|---|---|---|", *rows, ""] if rows else []
    return "\n".join(lines)


def _rows(places: tuple[str, ...]) -> list[str]:
    keys = Keys()
    rows = []
    for command in COMMANDS:
        here = [contexts.CONTEXT_NAMES[place] for place in places if place in command.where]
        if here:
            shown = " ".join([f"`{key_label(key)}`" for key in keys.of(command)]).replace("|", "\\|")
            rows.append(f"| {shown} | {command.help} | {', '.join(here)} |")
    return rows
