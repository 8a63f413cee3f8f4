"""The pages `docs/screens.md` (each screen in some sentences, with its keys) and `docs/keys.md` (all keys)."""

from __future__ import annotations

from collections.abc import Sequence

from sessionbrowse.tui.commands import command as contexts
from sessionbrowse.tui.commands.command import Command, key_label
from sessionbrowse.tui.commands.keymap import Keys
from sessionbrowse.tui.commands.table import ACTIONS, BY_ID, COMMANDS

Screen = tuple[str, str, str, tuple[str, ...]]
"""Title, text, the name of a picture in `screenshots/` (or ""), and the contexts whose keys are listed."""

SCREENS: tuple[Screen, ...] = (
    (
        "Lists",
        "The first screen: projects at the left, the sessions of the chosen project in the middle, a preview at the "
        "right where there is room. A row shows name or first prompt, branches (`⌥`), labels (`⚑`), the project if "
        "all are listed, the agent's letter, how the session ended if it did not end well (`!` interrupted, `■` "
        "aborted, `⊗` error, `◔` pending), age, messages and cost. `⊞1` stands for a fork or a subagent folded "
        "below; the preview tells what the family cost, each request counted once.",
        "browse",
        (contexts.LIST, contexts.PROJECTS, contexts.SESSIONS, contexts.PREVIEW),
    ),
    (
        "Search line",
        "`/` in the projects lists those whose name or directory has the words. Esc shows all again.",
        "",
        (contexts.TYPING,),
    ),
    (
        "Session",
        "The tree of one session at the left, the entry under the cursor at the right: whole, as the context that the "
        "model would receive there, its branch compared with another, or as its raw line. A branch shows its cost "
        "where it begins; `•` marks the branch on which the agent resumes, `✗` what failed. Below 100 columns one pane "
        "has the whole width.",
        "session",
        (contexts.SESSION, contexts.TREE, contexts.VIEW),
    ),
    (
        "Search in a tree",
        "`/` searches the entries of a session as all sessions are searched, tool calls and results included; filters "
        "that select sessions, such as `agent:`, do nothing there. The cursor is on the nearest hit; rows above hits "
        "are dim and skipped. If no entry has all words, those with some are found.",
        "",
        (contexts.TREE_LINE,),
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
        "The third view: two branches below their last common entry, beside each other where there is room, with "
        "time, tokens, cost, tools and their errors, files with changed lines, and how each ended.",
        "diff",
        (),
    ),
    (
        "Search",
        "The list of what a query finds, best first: a row for each session, its best hits below; `o` shows all of "
        "them. [search.md](search.md) tells what a query can say; `label:` lists all labels. Enter opens the entry "
        "with its words marked; `n` goes on to the next hit, also in the next session.",
        "search-all",
        (contexts.SEARCHING,),
    ),
    (
        "Cost",
        "Tokens and cost, each request counted once, wherever it was copied: a bar for each day, week or month, and "
        "tables by project, session, model, family, branch, agent and provider. Enter goes into a row.",
        "",
        (contexts.STATS,),
    ),
    (
        "Problems: damage",
        "Damage found in sessions, what each agent makes of it, and what repairs it. [damage.md](damage.md) lists all "
        "kinds.",
        "",
        (contexts.DOCTOR,),
    ),
    (
        "Problems: what could go",
        "Sessions that could go, with the reason; those that hold nothing of their own are selected at first.",
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
        "Each screen, and the keys that work only there; [keys.md](keys.md) lists all. Made",
        "by `make docs`.",
        "",
    ]
    for title, text, picture, places in SCREENS:
        lines += [f"## {title}", "", text, ""]
        if picture:
            lines += [f"![{title}](../screenshots/{picture}.svg)", ""]
        rows = _rows(places)
        lines += [*HEAD, *rows, ""] if rows else []
    return "\n".join(lines)


def keys() -> str:
    """Return the page of all keys in Markdown."""
    lines = [
        "# Keys",
        "",
        "All keys, and the commands without one. `^r` is Ctrl+R. In the browser `?` shows the keys of the current",
        'screen, with your own; `habits = "pi"` in the [settings](settings.md) has other ones. Made by `make docs`.',
        "",
        *HEAD,
        *key_rows(),
        "",
        "## In the actions menu",
        "",
        "`x` opens the menu of every verb for the row or the selected rows, with the reason where one cannot work.",
        "There a letter runs a verb, as do its keys above. Your own commands follow.",
        "",
        "| letter | does |",
        "|---|---|",
        *[f"| `{command.letter}` | {command.help} |" for command in letters()],
        "",
        "## Without a key",
        "",
        "In the palette (`:`) of the screen to which they belong; the settings can give them a key.",
        "",
        "| command | does | where |",
        "|---|---|---|",
    ]
    for command in COMMANDS:
        if not command.keys and not command.letter:
            lines.append(f"| `{command.id}` | {command.help} | {_places([command])} |")
    return "\n".join([*lines, ""])


HEAD = ("| key | does | where |", "|---|---|---|")


def letters() -> list[Command]:
    """Return the commands that have a letter in the actions menu, in its order."""
    return [BY_ID[command_id] for command_id in ACTIONS if BY_ID[command_id].letter]


def key_rows(commands: Sequence[Command] = COMMANDS) -> list[str]:
    """Return the rows of the table of default keys: one row for each verb, as opposite keys belong together."""
    by_verb: dict[str, list[Command]] = {}
    for command in commands:
        if command.keys:
            by_verb.setdefault(command.verb, []).append(command)
    rows = []
    for same in by_verb.values():
        shown = dict.fromkeys([key_label(key) for command in same for key in command.keys])
        labels = " ".join([f"`{label}`" for label in shown]).replace("|", "\\|")
        rows.append(f"| {labels} | {same[0].help} | {_places(same)} |")
    return rows


def _places(commands: Sequence[Command]) -> str:
    return ", ".join(dict.fromkeys([context for each in commands for context in each.where]))


def _rows(places: tuple[str, ...]) -> list[str]:
    bound = Keys()
    rows: dict[tuple[str, str, str], list[str]] = {}
    for command in COMMANDS:
        here = ", ".join([place for place in places if place in command.where])
        if here and (command.keys or command.letter):
            shown = [key_label(key) for key in bound.of(command)] or ["x " + command.letter]
            rows.setdefault((command.verb, command.help, here), []).extend(shown)
    return [
        f"| {' '.join([f'`{label}`' for label in dict.fromkeys(shown)])} | {help} | {here} |".replace("`|`", "`\\|`")
        for (_, help, here), shown in rows.items()
    ]
