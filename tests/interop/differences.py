"""The intended differences from the real programs, and why each is better for the owner of such a file.

Nothing else may differ: a test fails for any other difference, for another answer of ours than the one written here,
and for a line here that nothing uses.

No recorded file shows these, which differ on purpose too:

- pi skips a line with lone carriage returns. We show its entries; `context` says that the model would not receive them.
- pi opens an event stream (`--mode json`) as a session of unknown entries. We refuse it in a sentence.
- pi lists no `modified` if a message's time is no date. We take the newest time that is one.
- pi puts a `message` that is a number or text into the context, without a role. It says nothing to a model: left out.
- pi adds up tokens and cost to NaN, or fails, where `usage` is partial. We count what is there.
- pi hangs entries without `parentId` below an entry without `id`. With us they are roots.
- An id that is neither text nor number is null in our answers; the branch that ends there is shown.
- omp takes a first message also from torn lines and from values of other keys. Ours comes from whole messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from .compare import DRAWN, Finding
from .programs import number


class Difference(Struct, frozen=True):
    """Files, separated by spaces: what the program does with each, why we do otherwise, and our answers.

    These are by aspect, or by aspect and place. `drawn`, our whole tree, stands for all aspects of rows. Only versions
    from `since` on, and before `until`, differ.
    """

    files: str
    they: str
    why: str
    ours: dict[str, Any]
    since: str = ""
    until: str = ""

    def concerns(self, file: str, version: str) -> bool:
        """Return True for the file, and a version of the program that is said to differ."""
        return (
            file in self.files.split()
            and number(self.since) <= number(version)
            and (not self.until or number(version) < number(self.until))
        )


_SHOW_ALL = "a browser shows what is in the file; the loop is cut at its first entry and reported as a problem"
_SNAPSHOT = ["compactionSummary: summary k", "user: asked while it ran", "assistant: answered while it ran"]
_BEFORE_18_3 = {
    "they": "keep nothing before a compaction whose summary Anthropic made",
    "why": "from 18.3 on, omp keeps what followed the last entry that the summary covers",
    "until": "18.3.0",
}
_LOOP_FILE = [[0, "a"], [1, "b"], [2, "a"], [3, "c"]]

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        files="pi/edge/self-parent-leaf.jsonl",
        they="never return from getBranch(): the leaf is its own parent",
        why=_SHOW_ALL,
        ours={"branch": ["b"], "context": ["user <b>: self"], "drawn": ["• user: self", "user: hi"]},
    ),
    Difference(
        files="pi/edge/self-parent.jsonl",
        they="draw one root and, a column to the right of it, the entry that is its own parent",
        why="its getTree() calls that entry a root, and two roots are drawn as everywhere else",
        ours={"drawn": ["• user: hi", "   • assistant: x", "user: self"]},
    ),
    Difference(
        files="pi/edge/two-cycle.jsonl",
        they="show entries whose parents form a loop nowhere",
        why=_SHOW_ALL,
        ours={
            "tree": [[0, "a"], [1, "b"], [0, "c"], [1, "d"]],
            "drawn": ["• user: hi", "   • assistant: yo", "user: one", "   user: two"],
        },
    ),
    Difference(
        files="pi/edge/two-cycle-leaf.jsonl",
        they="never return from getBranch(): the leaf is in a loop of parents",
        why=_SHOW_ALL,
        ours={
            "tree": [[0, "a"], [0, "c"], [1, "d"]],
            "branch": ["c", "d"],
            "context": ["user <c>: one", "user <d>: two"],
            "drawn": ["• user: one", "   • user: two", "user: hi"],
        },
    ),
    Difference(
        files="pi/edge/duplicate-id-loop.jsonl",
        they="never return from getTree() and getBranch(): a second entry with the id of a root is below it",
        why="the second entry hangs below the first one, as the file tells the story",
        ours={
            "tree": _LOOP_FILE,
            "branch": ["a", "b", "a", "c"],
            "label times": {},
            "context": ["user <a>: first a", "assistant <b>: yo", "user <a>: second a", "assistant <c>: end"],
            "drawn": ["• user: first a", "• assistant: yo", "• user: second a", "• assistant: end"],
        },
    ),
    Difference(
        files="pi/edge/duplicate-id.jsonl",
        they="draw the second of two entries with one id twice and the first one never",
        why="both are in the file, so both are shown",
        ours={"drawn": ["• user: A1", "├─ • user: B2", "└─ user: B1"]},
    ),
    Difference(
        files="pi/edge/json-scalars.jsonl",
        they="take every value without id for the current leaf if the last line is one, and draw them all first",
        why="only the last line is the leaf, which comes first; the others stay in file order",
        ours={"drawn": ["", "", "user: hi", ""]},
    ),
    Difference(
        files="pi/edge/message-missing.jsonl pi/edge/message-null.jsonl",
        they="fail with a TypeError in /tree, /session and when building the context",
        why="such an entry says nothing to a model; the rest of a session stays readable",
        ours={"context": [], "list: tokens": 0, "list: cost": 0, "drawn": ["• [message]"]},
    ),
    Difference(
        files="pi/edge/custom-message-no-content.jsonl",
        they="fail with a TypeError when /tree draws it",
        why="a custom message without content is drawn without content",
        ours={"drawn": ["• user: hi", "• [k]:"]},
    ),
    Difference(
        files="pi/edge/name-number.jsonl",
        they="fail with a TypeError when asked for the name",
        why="the number is what the user would recognise",
        ours={"name": "5"},
    ),
    Difference(
        files="pi/edge/header-number-id.jsonl",
        they="list a number as id and refuse to open the file",
        why="an id is text; the refusal is said",
        ours={"list: id": None},
    ),
    Difference(
        files="omp/edge/self-parent-leaf.jsonl",
        they="never return from /tree: the leaf is its own parent",
        why=_SHOW_ALL,
        ours={"drawn": ["• user: self", "user: question"]},
        until="18.2.5",
    ),
    Difference(
        files="omp/edge/no-id.jsonl",
        they="draw no entries without id in /tree",
        why="a browser shows what is in the file",
        ours={"drawn": ["user: question", "[custom: x]"]},
        since="18.2.5",
    ),
    Difference(
        files="omp/edge/slot-after-header.jsonl omp/edge/slot-in-the-middle.jsonl",
        they="draw no entries without id in /tree, such as a title slot that is not at the start",
        why="a browser shows what is in the file",
        ours={"drawn": ["• user: question", "   • assistant: answer", "[title]"]},
        since="18.2.5",
    ),
    Difference(
        files="omp/edge/snapshot.jsonl omp/edge/snapshot-through-label.jsonl omp/edge/snapshot-and-rollover.jsonl",
        ours={
            "context @ leaf": [*_SNAPSHOT, "user: after"],
            "context @ entry 5": _SNAPSHOT,
            "context @ entry 6": [*_SNAPSHOT, "user: after"],
        },
        **_BEFORE_18_3,
    ),
    Difference(
        files="omp/edge/snapshot-and-clear.jsonl",
        ours={"context": ["compactionSummary: summary k", "user: asked"]},
        **_BEFORE_18_3,
    ),
    Difference(
        files="omp/edge/rows-of-patches.jsonl",
        they="draw an edit whose argument is a patch without the names of its files",
        why="the names tell what was edited; they are the first lines of the patch",
        ours={"drawn": ["• user: q", "• [edit: src/a.py]"]},
    ),
    Difference(
        files="omp/edge/cycle.jsonl",
        they="show entries whose parents form a loop nowhere",
        why=_SHOW_ALL,
        ours={
            "tree": [[0, "a"], [1, "b"], [0, "c"], [1, "d"]],
            "drawn": ["• user: question", "   • assistant: answer", "user: one", "   user: two"],
        },
    ),
    Difference(
        files="omp/edge/cycle-leaf.jsonl",
        they="show entries whose parents form a loop nowhere, though the context is made of them",
        why=_SHOW_ALL,
        ours={
            "tree": [[0, "a"], [0, "c"], [1, "d"]],
            "drawn": ["• user: one", "   • user: two", "user: question"],
        },
    ),
    Difference(
        files="omp/edge/cycle-only.jsonl",
        they="show an empty tree",
        why=_SHOW_ALL,
        ours={"tree": [[0, "c"], [1, "d"]], "drawn": ["• user: one", "• user: two"]},
    ),
    Difference(
        files="omp/edge/duplicate-id-loop.jsonl",
        they="never return from getTree(): a second entry with the id of a root is below it",
        why="the second entry hangs below the first one, as the file tells the story",
        ours={"opens": None, "tree": _LOOP_FILE, "branch": ["a", "b", "a", "c"]},
    ),
    Difference(
        files="omp/edge/duplicate-id.jsonl",
        they="draw the second of two entries with one id twice and the first one never",
        why="both are in the file, so both are shown",
        ours={"drawn": ["• user: question", "├─ • user: B2", "└─ user: B1"]},
    ),
    Difference(
        files="omp/edge/no-type.jsonl",
        they="fail with a TypeError when /tree draws an entry without type",
        why="it is drawn as an entry of an unknown type",
        ours={"drawn": ["• user: question", "• []"]},
    ),
    Difference(
        files="omp/edge/scalars.jsonl",
        they="fail with a TypeError when /tree draws a value that is no entry",
        why="it is drawn as an entry of an unknown type",
        ours={"drawn": ["• user: question", "   • assistant: answer", "[]", "[]", "[]", "[]", "[]", "[]", "[]"]},
    ),
    Difference(
        files="omp/edge/scalar-at-end.jsonl",
        they="fail with a TypeError when /tree draws a value that is no entry",
        why="it is drawn as an entry of an unknown type",
        ours={"drawn": ["[]", "user: question", "   assistant: answer"]},
    ),
    Difference(
        files="omp/edge/content-null-answer.jsonl",
        they="fail with a TypeError when building the context",
        why="an answer without content gives the model nothing; the rest of a session stays readable",
        ours={"context": ["user <a>: q1", "assistant <b>: "]},
    ),
    Difference(
        files="omp/edge/lone-cr.jsonl",
        they="take the file for one line, keep its header and lose everything behind it",
        why="the conversation is there to be read; that omp does not see it is reported as a problem",
        ours={
            "list: messages": 2,
            "list: tokens": 20,
            "list: cost": 0.33,
            "leaf": "b",
            "entry ids": ["a", "b"],
            "entry types": ["message", "message"],
            "branch": ["a", "b"],
            "tree": [[0, "a"], [1, "b"]],
            "context": ["user: question", "assistant: answer"],
            "model": "p/m-b",
            "drawn": ["• user: question", "• assistant: answer"],
        },
    ),
    Difference(
        files="omp/edge/slot-with-mark.jsonl",
        they="do read the slot behind a byte order mark; only the oracle's own look at the first line does not",
        why="the name, which is compared too, is the slot's",
        ours={"title slot": ["Slot title", "user", "2026-01-02T03:04:00.000Z"]},
    ),
    Difference(
        files="omp/edge/title-in-header-number.jsonl",
        they="show a number, or any other value, as the name",
        why="a name is text everywhere in our answers",
        ours={"name": None},
    ),
)


class Judgement(Struct, frozen=True):
    """The comparisons made by aspect, those that differ without a reason, and reasons that nothing needs."""

    compared: dict[str, int]
    explained: list[Finding]
    unexplained: list[Finding]
    unused: list[str]


def judge(findings: Iterable[Finding], files: Iterable[tuple[str, str]]) -> Judgement:
    """Sort findings by whether they agree; `files` are all that were compared (`agent/set/path`), with the version."""
    present = {place: next((each for each in DIFFERENCES if each.concerns(*place)), None) for place in files}
    compared: dict[str, int] = {}
    explained: list[Finding] = []
    unexplained: list[Finding] = []
    used: set[tuple[str, str, str]] = set()
    for finding in findings:
        compared[finding.aspect] = compared.get(finding.aspect, 0) + 1
        if finding.agrees:
            continue
        difference = present.get((finding.file, finding.version))
        ours = difference.ours if difference is not None else {}
        place = f"{finding.aspect} @ {finding.detail}"
        key = place if place in ours else finding.aspect
        if finding.aspect.startswith("row") and DRAWN in ours:
            explained.append(finding)
        elif key in ours and ours[key] == finding.ours:
            explained.append(finding)
            used.add((finding.file, finding.version, key))
        else:
            unexplained.append(finding)
    unused = [
        f"{file} ({version}): {key}"
        for (file, version), difference in present.items()
        if difference is not None
        for key in difference.ours
        if (file, version, key) not in used
    ]
    return Judgement(compared, explained, unexplained, unused)
