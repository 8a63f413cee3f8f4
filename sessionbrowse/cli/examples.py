"""Examples of each command, as pairs of command line and description: for `--help`, `docs/commands.md`, man page."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "list": (
        ("sessionbrowse list --cwd . --under", "sessions of this directory and of directories below it"),
        ("sessionbrowse list flaky test --limit 5", "the five sessions that match best"),
        ("sessionbrowse list --json | jq -r '.[0].path'", "the newest session's file"),
        ("sessionbrowse list --cwd ~/old --null | xargs -0 ls -l", "the session files of a directory"),
    ),
    "projects": (("sessionbrowse projects --since 7d", "projects with activity in the last 7 days"),),
    "labels": (
        ("sessionbrowse labels jwt --since 2026-11-01", "labels since a date, with a word in label, name or entry"),
    ),
    "stats": (
        ("sessionbrowse stats --by model --since 7d", "what each model cost this week"),
        ("sessionbrowse stats --by month --csv", "cost of each month as CSV, for a spreadsheet"),
    ),
    "search": (
        ("sessionbrowse search '\"flaky test\" role:user'", "your own prompts that contain this phrase"),
        ("sessionbrowse search re:time.?out --sort newest", "search for a regular expression, newest first"),
        ("sessionbrowse search branch:abandoned jwt", "search only in abandoned branches"),
    ),
    "show": (("sessionbrowse show latest", "the newest session"),),
    "tree": (
        ("sessionbrowse tree latest --filter user-only", "your prompts, as a tree"),
        ("sessionbrowse tree latest --ids", "the tree with entry ids, for label, checkout and diff"),
    ),
    "context": (
        ("sessionbrowse context latest", "the messages that the model would receive now"),
        ("sessionbrowse context latest --json | jq .tokens", "the estimated size of the context"),
    ),
    "diff": (("sessionbrowse diff latest 4f2a 8b18", "compare two branches, each given by one of its entries"),),
    "resume": (
        ("sessionbrowse resume latest", "resume the newest session"),
        ("sessionbrowse resume 01a2 --at jwt-works --print", "print the commands that resume at a label"),
    ),
    "rename": (
        ('sessionbrowse rename latest "Checkout page"', "name the newest session"),
        ("sessionbrowse rename 01a2 --clear", "remove the name of a session"),
    ),
    "label": (
        ("sessionbrowse label latest 4f2a before-refactoring", "label an entry"),
        ("sessionbrowse label latest before-refactoring --clear", "remove the label of an entry"),
    ),
    "checkout": (("sessionbrowse checkout latest jwt-works", "make the agent resume at a label"),),
    "fork": (("sessionbrowse fork latest --at 4f2a --cwd ~/other", "fork up to an entry, to work in ~/other"),),
    "convert": (
        ("sessionbrowse convert 01a2 --to omp --dry-run", "print what would be lost if omp continued a session of pi"),
        ("sessionbrowse convert latest --to pi", "make a session of pi from the newest session, or add what is new"),
    ),
    "delete": (("sessionbrowse delete 01a2 01b7", "move two sessions to the trash, after confirmation"),),
    "restore": (
        ("sessionbrowse restore --list", "list the deleted sessions"),
        ("sessionbrowse restore 01a2", "restore one deleted session"),
    ),
    "archive": (("sessionbrowse archive 01a2", "hide a session from the agent's list"),),
    "unarchive": (("sessionbrowse unarchive 01a2", "bring an archived session back into the agent's list"),),
    "relocate": (
        ("sessionbrowse relocate ~/shop ~/code/shop --dry-run", "list the sessions that relocate would move"),
    ),
    "undo": (
        ("sessionbrowse undo", "undo the last change"),
        ("sessionbrowse undo --list", "list the changes that can be undone"),
    ),
    "prune": (
        (
            "sessionbrowse prune 01a2 --abandoned --keep-labeled --to copy.jsonl",
            "copy only active and labelled branches",
        ),
        ("sessionbrowse prune 01a2 --drop 4f2a --in-place --dry-run", "show what dropping a branch would remove"),
    ),
    "shrink": (
        ("sessionbrowse shrink 01a2 --images --results-over 64K --to small.jsonl", "write a smaller copy of a session"),
    ),
    "doctor": (
        ("sessionbrowse doctor", "print all damage in sessions; exit status 1 if there is damage"),
        ("sessionbrowse doctor 01a2 --repair-to mended.jsonl", "write a repaired copy of a session"),
    ),
    "cleanup": (
        ("sessionbrowse cleanup --dry-run", "list the sessions to clean up, each with a reason"),
        ("sessionbrowse cleanup --kind old --kind large", "move old and large sessions to the trash"),
    ),
    "redact": (
        ("sessionbrowse redact 01a2 --to masked.jsonl --dry-run", "print the secrets and names that would be masked"),
        ("sessionbrowse redact 01a2 --to masked.jsonl", "review each secret, then write a masked copy of the session"),
    ),
    "export": (
        ("sessionbrowse export latest --format html -o session.html", "export a session as a web page"),
        ("sessionbrowse export 01a2 --at jwt-works --format markdown", "export the branch up to a label as Markdown"),
    ),
    "index": (
        ("sessionbrowse index", "read all sessions into the index"),
        ("sessionbrowse index --rebuild --tools", "rebuild the index with tool calls and results"),
    ),
    "machines": (
        ("sessionbrowse machines add mini mini.local", "list the sessions of the machine that ssh knows as mini.local"),
        ("sessionbrowse machines look", "read what is new on all machines"),
    ),
    "pick": (
        ('path=$(sessionbrowse pick) && pi --session "$path"', "choose a session, then resume it in pi"),
        ("sessionbrowse pick --entry --json", "choose an entry"),
    ),
    "integrate": (("sessionbrowse integrate pi --print", "print the files of the extension for pi"),),
    "shell": (('eval "$(sessionbrowse shell bash)"', "Ctrl+X s opens the browser in the shell"),),
    "config": (("sessionbrowse config --example > ~/.config/sessionbrowse/config.toml", "create a settings file"),),
    "completion": (("source <(sessionbrowse completion bash)", "complete commands, sessions and labels with Tab"),),
    "demo": (
        ("sessionbrowse demo", "try the browser on sample sessions"),
        ("sessionbrowse demo --to sample", "write the sample sessions to a folder and keep them"),
    ),
}


def shown(command: str) -> str:
    """Return a command's examples for its help, each command line below its description; "" without examples."""
    return "\n".join(f"  # {does}\n  {typed}" for typed, does in EXAMPLES.get(command, ()))
