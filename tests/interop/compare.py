"""Our answers beside the real programs': every comparison made is a `Finding`, equal or not.

Ours come as the documents of the command line (`show`, `context`, `tree`, `list`), through `ours.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from .ours import Ours, Row, list_folder, message_line
from .recording import Listing, SessionSet

Answer = dict[str, Any]
FILTERS = ("default", "no-tools", "user-only", "labeled-only", "all")
# `first_message` of the command line is at most this long; then it says that it is cut.
FIRST_MESSAGE_BYTES = 64 * 1024
OMP_WINDOW_BYTES = 4096
CURSOR = "› "
# The aspect that stands for all row aspects of a file in which some differ: our whole tree, as it is drawn.
DRAWN = "drawn"


class Finding(Struct, frozen=True):
    """One thing compared: the file, what of it, where in it, the program's answer and ours."""

    file: str
    version: str
    aspect: str
    detail: str
    theirs: Any
    ours: Any

    @property
    def agrees(self) -> bool:
        """True if both answers are the same."""
        return bool(self.theirs == self.ours)


def compare(sessions: SessionSet, answer: Answer, ours: Ours) -> Iterator[Finding]:
    """Yield everything that can be compared about one file."""
    file = f"{sessions.agent}/{sessions.name}/{answer['key']}"
    made = _compare_pi(answer, ours) if sessions.agent == "pi" else _compare_omp(answer, ours)
    rows_differ = False
    for aspect, detail, theirs, mine in made:
        yield Finding(file, sessions.version, aspect, detail, theirs, mine)
        rows_differ |= aspect.startswith("row") and theirs != mine
    if rows_differ:  # what a table of differences can state in a few lines
        yield Finding(file, sessions.version, DRAWN, "", "differs", [drawn(row) for row in ours.rows("all")])


def compare_listing(sessions: SessionSet, listing: Listing) -> Iterator[Finding]:
    """Yield the comparison of a whole folder: which sessions, in which order, and in threads."""
    root = sessions.folder / listing.root
    key = f"{sessions.agent}/{sessions.name}/{listing.root}"
    ours = list_folder(root, sessions.agent)
    rows = listing.answer["sessions" if sessions.agent == "pi" else "rows"]
    theirs = [row["path"] for row in rows]
    listed = set(theirs)  # we also list, with their problem, files that the program leaves out
    mine = [path for row in ours if (path := row["path"].removeprefix(f"{root}/")) in listed]
    yield Finding(key, sessions.version, "order of the list", "", theirs, mine)
    if listing.threads is not None:
        theirs = [row["path"] for row in listing.threads["rows"]]
        threaded = list_folder(root, sessions.agent, sort="threaded")
        mine = [path for row in threaded if (path := row["path"].removeprefix(f"{root}/")) in listed]
        yield Finding(key, sessions.version, "order of threads", "", theirs, mine)


_Made = Iterator[tuple[str, str, Any, Any]]


# ---- pi ------------------------------------------------------------------------------------------------------


def _compare_pi(answer: Answer, ours: Ours) -> _Made:
    oracle = answer["oracle"]
    show = ours.show
    names = _Names(show["entry_ids"] if _made_up_ids(oracle) else None)
    if oracle["rewritten"] == "initialized":
        yield "opens", "", "writes a new session into it", _writes_new_session(ours)
        yield from _compare_pi_list(oracle, ours)
        return
    for version, unlike in answer["older"].items():
        yield "older version", version, {}, unlike
    yield "opens", "", oracle["open"]["ok"], ours.refusal() is None
    yield from _compare_pi_list(oracle, ours)
    if not oracle["open"]["ok"]:
        return
    yield "lost in decoding", "", [], ours.lost_in_decoding()
    header = dict(show["header"] or {})
    if oracle["rewritten"] == "migrated":  # pi answers after migration; the document gives the file's own version
        header["version"] = oracle["header"]["version"]
    yield "header", "", oracle["header"], header
    yield "id", "", oracle["sessionId"], show["id"]
    # A directory that is no text counts as none: pi runs such a session where it was started itself.
    yield "cwd", "", oracle["cwd"] if isinstance(oracle["cwd"], str) else "", show["cwd"]
    yield "name", "", oracle["name"], show["name"]
    yield "leaf", "", _id(oracle.get("leafId")), names(show["leaf_id"])
    yield "entry ids", "", [_id(each) for each in oracle["entryIds"]], [names(each) for each in show["entry_ids"]]
    yield "entry types", "", oracle["entryTypes"], show["entry_types"]
    yield "labels", "", oracle["labels"], names.keys(show["labels"])
    hangs = oracle["hangs"]
    flat = oracle["treeFlat"]
    times = None if flat is None else {row[1]: row[4] for row in flat if row[3] is not None}
    yield "label times", "", "hangs" if flat is None else times, names.keys(show["label_times"])
    tree = "hangs" if hangs["tree"] else [[row[0], _id(row[1])] for row in flat]
    yield "tree", "", tree, [[row["depth"], names(row["id"])] for row in show["tree"]]
    branch = "hangs" if hangs["branch"] else [_id(each) for each in oracle["branch"]]
    yield "branch", "", branch, [names(each) for each in show["branch"]]
    if "spent" in answer:
        spent = answer["spent"]
        yield "list: tokens", "", spent.get("tokens", spent), ours.listing["tokens"]
        yield "list: cost", "", _money(spent.get("cost", spent)), _money(ours.listing["cost"])
    yield from _compare_pi_contexts(answer, ours)
    yield from _compare_pi_trees(answer, ours, names)


def _compare_pi_list(oracle: Answer, ours_: Ours) -> _Made:
    theirs, ours = oracle["list"], ours_.listing
    yield "listed", "", theirs is not None, ours_.show["unlisted"] is None
    is_well = theirs is not None and oracle["open"]["ok"]
    yield "list: problem", "", is_well, ours["problem"] is None
    if theirs is None:
        return
    yield "list: id", "", theirs["id"], ours["id"]
    yield "list: cwd", "", theirs["cwd"] or "", ours["cwd"] or ""
    yield "list: name", "", theirs["name"], ours["name"]
    yield "list: parent", "", theirs["parentSessionPath"], ours["parent_session"]
    yield "list: created", "", theirs["created"], ours["created"]
    yield "list: modified", "", theirs["modified"], ours["modified"]
    yield "list: messages", "", theirs["messageCount"], ours["message_count"]
    first = theirs["firstMessage"]
    yield from _compare_first_message(None if first == "(no messages)" else first, ours)


def _compare_first_message(theirs: str | None, ours: dict[str, Any]) -> _Made:
    mine = ours["first_message"]
    if theirs is not None and ours.get("first_message_cut"):
        whole = theirs.encode("utf-8", "surrogatepass")
        yield "list: first message is long", "", True, len(whole) > FIRST_MESSAGE_BYTES >= len(mine.encode())
        theirs = theirs[: len(mine)]
    yield "list: first message", "", theirs, mine


def _compare_pi_contexts(answer: Answer, ours: Ours) -> _Made:
    contexts = answer.get("contexts", "hangs")
    if not isinstance(contexts, list):
        yield "context", "leaf", contexts, ours.context_lines(None)
        return
    digests = [message["sha1"] for message in answer["oracle"]["context"].get("messages", [])]
    ids = ours.show["entry_ids"]
    for theirs in contexts:
        at = theirs["index"]
        where = "leaf" if at is None else f"entry {at}"
        if "error" in theirs:
            yield "context", where, {"error": theirs["error"]}, ours.context_lines(at)
            continue
        mine = ours.context(at)
        if at is not None:
            yield "branch at", where, theirs["branch"], ours.branch_at(at)
        else:
            yield "oracle agrees with itself", where, digests, [m["sha1"] for m in theirs["messages"]]
        sources = [None if m["entry"] is None else ids[m["entry"]] for m in theirs["messages"]]
        lines = [_their_line(m, source) for m, source in zip(theirs["messages"], sources, strict=True)]
        yield "context", where, lines, ours.context_lines(at)
        entries = [m["entry_id"] for m in mine["messages"]]
        yield "context digests", where, *_raw_digests(theirs["messages"], entries, ours)
        yield "thinking level", where, theirs["thinkingLevel"], mine["thinking_level"]
        yield "model", where, _pi_model(theirs["model"]), mine["model"]


def _raw_digests(theirs: list[Answer], entries: list[str | None], ours: Ours) -> tuple[list[str], list[str]]:
    """Compare the messages that stand in the file as they are with the bytes our entry points at."""
    wanted, found = [], []
    for message, entry in zip(theirs, entries, strict=False):
        digest = None if entry is None else ours.stored_digest(ours.index_by_id[entry])
        if digest is not None:
            wanted.append(message["sha1"])
            found.append(digest)
    return wanted, found


def _compare_pi_trees(answer: Answer, ours: Ours, names: _Names) -> _Made:
    views: list[tuple[list[str], Answer]] = [
        ([], answer["trees"]),
        *((argv, view) for argv, view in answer["views"]),
    ]
    for argv, printed in views:
        if "failed" in printed or "views" not in printed:
            yield "rows", " ".join(argv), printed.get("failed", "hangs"), "drawn"
            continue
        for view in printed["views"]:
            query = argv[argv.index("--search") + 1] if "--search" in argv else ""
            folds = argv[argv.index("--fold") + 1].split(",") if "--fold" in argv else []
            where = " ".join([view["mode"], *argv])
            yield from _compare_pi_rows(view, ours.rows(view["mode"], query, folds), where, names)


def _compare_pi_rows(view: Answer, ours: list[Row], where: str, names: _Names) -> _Made:
    theirs = view["rows"]
    shift = 1 if view["multipleRoots"] else 0
    yield (
        "row ids",
        where,
        [_id(row.get("id")) for row in theirs] if names.none else len(theirs),
        [row.id for row in ours] if names.none else len(ours),
    )
    yield "row depth", where, [max(0, row["indent"] - shift) for row in theirs], [row.depth for row in ours]
    yield "row connectors", where, [row["connector"] for row in theirs], [row.connector for row in ours]
    yield "row gutters", where, [row["gutters"] for row in theirs], [row.gutters for row in ours]
    yield "row foldable", where, [row["foldable"] for row in theirs], [row.foldable for row in ours]
    yield "row active", where, [row["active"] for row in theirs], [row.active for row in ours]
    yield "row texts", where, [row["text"] for row in theirs], [row.text for row in ours]


def _pi_model(model: Answer | None) -> dict[str, Any] | None:
    return None if model is None else {"provider": model.get("provider"), "model_id": model.get("modelId")}


def _made_up_ids(oracle: Answer) -> bool:
    return oracle["rewritten"] == "migrated" and "version" in oracle["header"] and oracle["entryIds"][:1] == ["e0"]


class _Names:
    """Names entries by their number where the program makes ids up: `e0`, `e1` … as oracle.mjs does."""

    def __init__(self, entry_ids: list[str] | None) -> None:
        self.none = entry_ids is None
        self._names = {entry_id: f"e{number}" for number, entry_id in enumerate(entry_ids or [])}

    def __call__(self, entry_id: str | None) -> str | None:
        return entry_id if entry_id is None else self._names.get(entry_id, entry_id)

    def keys(self, by_id: dict[str, Any]) -> dict[str | None, Any]:
        return {self(key): value for key, value in by_id.items()}


# ---- omp -----------------------------------------------------------------------------------------------------


def _compare_omp(answer: Answer, ours: Ours) -> _Made:
    show = ours.show
    if answer.get("hangs"):
        yield "opens", "", "omp hangs", ours.refusal()
        yield "tree", "", "omp hangs", [[row["depth"], row["id"]] for row in show["tree"]]
        yield "branch", "", "omp hangs", show["branch"]
        return
    oracle = answer["oracle"]
    yield from _compare_omp_list(oracle, ours)
    if answer.get("hidden") is not None and ours.listing["problem"] is None:
        yield "list: hidden", "", answer["hidden"], ours.hidden
    if oracle["changedByOpen"]:
        yield "opens", "", "writes a new session into it", _writes_new_session(ours)
        return
    yield "opens", "", oracle["ok"], ours.refusal() is None
    if not oracle["ok"]:
        return
    yield "lost in decoding", "", [], ours.lost_in_decoding()
    # omp's header is folded with the slot and migrated: the name is compared below, the version is the file's own.
    folded = ("title", "titleSource", "version")
    yield "header", "", _without(oracle["header"], *folded), _without(show["header"] or {}, *folded)
    slot = oracle["slot"]
    mine = show.get("title_slot")
    yield (
        "title slot",
        "",
        slot and [slot["title"], slot["source"], slot["updatedAt"]],
        mine
        and [
            mine["title"],
            mine.get("source"),
            mine["updatedAt"],
        ],
    )
    yield "id", "", oracle["sessionId"], show["id"]
    yield "cwd", "", oracle["cwd"] or "", show["cwd"] or ""
    yield "name", "", oracle["name"], show["name"]
    # omp makes new ids for a version 1 file at every opening: compare by place.
    by_place = oracle["header"].get("version") != (show["header"] or {}).get("version", 1) and show["version"] == 1
    theirs_named = _places(oracle["entryIds"]) if by_place else _same
    ours_named = _places(show["entry_ids"]) if by_place else _same
    yield "leaf", "", theirs_named(oracle.get("leafId")), ours_named(show["leaf_id"])
    yield (
        "entry ids",
        "",
        [theirs_named(i) for i in oracle["entryIds"]],
        [ours_named(i) for i in show["entry_ids"]],
    )
    yield "entry types", "", oracle["entryTypes"], show["entry_types"]
    yield (
        "labels",
        "",
        {theirs_named(k): v for k, v in oracle["labels"].items()},
        {ours_named(k): v for k, v in show["labels"].items()},
    )
    yield "branch", "", [theirs_named(i) for i in oracle["branch"]], [ours_named(i) for i in show["branch"]]
    yield (
        "tree",
        "",
        _flat_tree(oracle["tree"], theirs_named),
        [[row["depth"], ours_named(row["id"])] for row in show["tree"]],
    )
    usage = oracle["usage"]
    tokens = sum(usage[key] for key in ("input", "output", "cacheRead", "cacheWrite"))
    yield "list: tokens", "", tokens, ours.listing["tokens"]
    yield "list: cost", "", _money(usage["cost"]), _money(ours.listing["cost"])
    yield from _compare_omp_contexts(answer, ours)
    yield from _compare_omp_trees(answer, ours)


def _compare_omp_list(oracle: Answer, ours_: Ours) -> _Made:
    theirs, ours = oracle.get("list"), ours_.listing
    yield "listed", "", theirs is not None, ours_.show["unlisted"] is None
    is_well = theirs is not None and oracle["ok"] and not oracle["changedByOpen"]
    yield "list: problem", "", is_well, ours["problem"] is None
    if theirs is None:
        return
    yield "list: id", "", theirs["id"], ours["id"]
    yield "list: cwd", "", theirs["cwd"], ours["cwd"] or ""
    yield "list: name", "", theirs["title"], ours["name"]
    yield "list: parent", "", theirs["parentSession"], ours["parent_session"]
    yield "list: created", "", theirs["created"], ours["created"]
    yield "list: modified", "", theirs["modified"], ours["modified"]
    yield "list: bytes", "", theirs["size"], ours["bytes"]
    yield "list: status", "", None if theirs["status"] == "unknown" else theirs["status"], ours["status"]
    # omp's own list reads 4 KiB; our count and first message are of the whole file.
    if oracle["ok"]:
        messages = [kind for kind in oracle["entryTypes"] if kind == "message"]
        yield "list: messages", "", len(messages), ours["message_count"]
    if theirs["size"] <= OMP_WINDOW_BYTES:
        first = theirs["firstMessage"]
        yield from _compare_first_message(None if first == "(no messages)" else first, ours)


def _compare_omp_contexts(answer: Answer, ours: Ours) -> _Made:
    contexts = answer["contexts"]
    if not isinstance(contexts, list):
        yield "context", "leaf", contexts, ours.context_lines(None)
        return
    for theirs in contexts:
        at = theirs["index"]
        where = "leaf" if at is None else f"entry {at}"
        if "error" in theirs:
            yield "context", where, {"error": theirs["error"]}, ours.context_lines(at)
            continue
        mine = ours.context(at)
        if at is not None:
            yield "branch at", where, theirs["branch"], ours.branch_at(at)
        lines = [_their_line(message) for message in theirs["messages"]]
        yield "context", where, lines, ours.context_lines(at, sources=False)
        yield "thinking level", where, theirs["thinkingLevel"], mine["thinking_level"]
        yield "model", where, theirs["models"].get("default"), _omp_model(mine["model"])


def _without(header: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in header.items() if key not in keys}


def _omp_model(model: dict[str, Any] | None) -> str | None:
    return None if model is None else "/".join(filter(None, (model["provider"], model["model_id"])))


def _compare_omp_trees(answer: Answer, ours: Ours) -> _Made:
    if answer["trees"] == "hangs":
        yield "rows", "", "hangs", "drawn"
        return
    for mode in FILTERS:
        mine = ours.rows(mode)
        if "failed" in answer["trees"][mode]:
            yield "rows", mode, answer["trees"][mode]["failed"], "drawn"
            continue
        indexes = answer["rowIndexes"][mode]
        yield "row ids", mode, indexes, [row.index for row in mine]
        lines = answer["trees"][mode]["rows"][: len(indexes)]
        yield "row lines", mode, [line[len(CURSOR) :] for line in lines], [drawn(row) for row in mine]
    for argv, printed in answer["views"]:
        if "failed" in printed:
            continue  # the same failure as in the filter "all" above
        query = next(word.removeprefix("--search=") for word in argv if word.startswith("--search="))
        mine = ours.rows("all", query)
        lines = [line[len(CURSOR) :] for line in printed["rows"] if line.startswith((CURSOR, "  "))]
        if "No entries found" in (line.strip() for line in printed["rows"]):
            lines = []
        yield "row lines", " ".join(argv), lines, [drawn(row) for row in mine]


def drawn(row: Row) -> str:
    """Return the row as pi and omp draw it behind the cursor; trailing blanks are dropped."""
    cells = []
    gutters = dict(row.gutters)
    for level in range(row.depth):
        if level in gutters:
            cells.append("│  " if gutters[level] else "   ")
        elif row.connector is not None and level == row.depth - 1:
            cells.append("└─ " if row.connector == "last" else "├─ ")
        else:
            cells.append("   ")
    label = f"[{row.label}] " if row.label else ""
    return ("".join(cells) + ("• " if row.active else "") + label + row.text).rstrip()


def _flat_tree(tree: list[Any], named: Any) -> list[list[Any]]:
    """Turn oracle.ts' nested shape (`[id, child…]`, a leaf is its id) into rows of depth and id."""
    rows = []
    stack = [(node, 0) for node in reversed(tree)]
    while stack:
        node, depth = stack.pop()
        entry_id, children = (node[0], node[1:]) if isinstance(node, list) else (node, [])
        rows.append([depth, named(entry_id)])
        stack += [(child, depth + 1) for child in reversed(children)]
    return rows


def _places(entry_ids: list[str | None]) -> Any:
    places = {entry_id: place for place, entry_id in enumerate(entry_ids)}
    return lambda entry_id: None if entry_id is None else places.get(entry_id, entry_id)


def _same(entry_id: Any) -> str | None:
    return _id(entry_id)


def _id(entry_id: Any) -> str | None:
    """Return an id as text: a file may have numbers, and ids are text with us."""
    return entry_id if entry_id is None else str(entry_id)


# ---- texts ---------------------------------------------------------------------------------------------------


def _money(dollars: Any) -> Any:
    """Return a sum as far as the order of adding does not matter."""
    return round(dollars, 9) if isinstance(dollars, int | float) else dollars


def _writes_new_session(ours: Ours) -> str:
    refusal = ours.refusal() or "opens it"
    return "writes a new session into it" if refusal.startswith("would write a new session") else refusal


def _their_line(message: Answer, source: str | None = None) -> str:
    return message_line(
        message["role"] or "",
        source,
        message["customType"],
        message["images"],
        message["text"],
        message["textLength"],
        message["textSha1"],
    )
