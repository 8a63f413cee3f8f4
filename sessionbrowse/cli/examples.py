"""Examples of each command: a line to type, and what it does; for `--help`, `docs/commands.md` and the man page."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "list": (
        ("sessionbrowse list --cwd . --under", "sessions of this directory and those below"),
        ("sessionbrowse list flaky test --limit 5", "the five sessions that fit best"),
        ("sessionbrowse list --json | jq -r '.[0].path'", "the newest session's file"),
        ("sessionbrowse list --cwd ~/old --null | xargs -0 ls -l", "files of the sessions of a directory"),
    ),
    "projects": (("sessionbrowse projects --since 7d", "the projects of this week"),),
    "labels": (("sessionbrowse labels jwt --since 2026-11-01", "labels whose text, name or entry has this word"),),
    "stats": (
        ("sessionbrowse stats --by model --since 7d", "what each model cost this week"),
        ("sessionbrowse stats --by month --csv", "a table for a spreadsheet"),
    ),
    "search": (
        ("sessionbrowse search '\"flaky test\" role:user'", "your own prompts with this phrase"),
        ("sessionbrowse search re:time.?out --sort newest", "a pattern, newest first"),
        ("sessionbrowse search branch:abandoned jwt", "only in branches that were left"),
    ),
    "show": (("sessionbrowse show latest", "the newest session"),),
    "tree": (
        ("sessionbrowse tree latest --filter user-only", "your prompts, as a tree"),
        ("sessionbrowse tree latest --ids", "entries with the ids that label, checkout and diff take"),
    ),
    "context": (
        ("sessionbrowse context latest", "what the model would receive now"),
        ("sessionbrowse context latest --json | jq .tokens", "its estimated size"),
    ),
    "diff": (("sessionbrowse diff latest 4f2a 8b18", "two branches, by entries on them"),),
    "resume": (
        ("sessionbrowse resume latest", "go on with the newest session"),
        ("sessionbrowse resume 01a2 --at jwt-works --print", "the commands to go on from a label"),
    ),
    "rename": (
        ('sessionbrowse rename latest "Checkout page"', "name the newest session"),
        ("sessionbrowse rename 01a2 --clear", "remove the name"),
    ),
    "label": (
        ("sessionbrowse label latest 4f2a before-refactoring", "label an entry"),
        ("sessionbrowse label latest before-refactoring --clear", "remove the label"),
    ),
    "checkout": (("sessionbrowse checkout latest jwt-works", "let the agent resume at a label"),),
    "fork": (("sessionbrowse fork latest --at 4f2a --cwd ~/other", "copy a path to a session of another directory"),),
    "delete": (("sessionbrowse delete 01a2 01b7", "two sessions to the trash, after a question"),),
    "restore": (
        ("sessionbrowse restore --list", "deleted sessions"),
        ("sessionbrowse restore 01a2", "one of them back to its place"),
    ),
    "archive": (("sessionbrowse archive 01a2", "take a session out of the agent's list"),),
    "unarchive": (("sessionbrowse unarchive 01a2", "put it back"),),
    "relocate": (("sessionbrowse relocate ~/shop ~/code/shop --dry-run", "the sessions of a moved project"),),
    "undo": (
        ("sessionbrowse undo", "undo the last change"),
        ("sessionbrowse undo --list", "the changes that can be undone"),
    ),
    "prune": (
        ("sessionbrowse prune 01a2 --abandoned --keep-labeled --to copy.jsonl", "a copy of the active branch"),
        ("sessionbrowse prune 01a2 --drop 4f2a --in-place --dry-run", "see what would go with a branch"),
    ),
    "shrink": (("sessionbrowse shrink 01a2 --images --results-over 64K --to small.jsonl", "a copy that is small"),),
    "doctor": (
        ("sessionbrowse doctor", "damage in all sessions; status 1 if there is any"),
        ("sessionbrowse doctor 01a2 --repair-to mended.jsonl", "a mended copy"),
    ),
    "cleanup": (
        ("sessionbrowse cleanup --dry-run", "sessions to clean up, each with its reason"),
        ("sessionbrowse cleanup --kind old --kind large", "only those, to the trash after a question"),
    ),
    "redact": (
        ("sessionbrowse redact 01a2 --to masked.jsonl --dry-run", "see what would be masked"),
        ("sessionbrowse redact 01a2 --to masked.jsonl", "review each row, then write the copy"),
    ),
    "export": (
        ("sessionbrowse export latest --format html -o session.html", "a page for the browser"),
        ("sessionbrowse export 01a2 --at jwt-works --format markdown", "one branch as Markdown"),
    ),
    "index": (
        ("sessionbrowse index", "read all sessions once"),
        ("sessionbrowse index --rebuild --tools", "make the output of tools searchable too"),
    ),
    "pick": (
        ('path=$(sessionbrowse pick) && pi --session "$path"', "choose a session and start pi on it"),
        ("sessionbrowse pick --entry --json", "choose an entry"),
    ),
    "integrate": (("sessionbrowse integrate pi --print", "see what would be installed"),),
    "shell": (('eval "$(sessionbrowse shell bash)"', "Ctrl+X s opens the browser in the shell"),),
    "config": (("sessionbrowse config --example > ~/.config/sessionbrowse/config.toml", "begin a settings file"),),
    "completion": (("source <(sessionbrowse completion bash)", "complete commands, sessions and labels"),),
    "demo": (
        ("sessionbrowse demo", "try everything without risk"),
        ("sessionbrowse demo --to sample", "keep the sample sessions, for scripts of your own"),
    ),
}


def shown(command: str) -> str:
    """Return the examples of a command as lines for its help: each with what it does above it; "" if there are none."""
    return "\n".join(f"  # {does}\n  {typed}" for typed, does in EXAMPLES.get(command, ()))
