"""The rules by which each program reads a session file, as values that `model/` follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from sessionbrowse.format.envelope import Fault

AgentName = Literal["pi", "omp", "atomic", "indusagi"]

OMP_ONLY_TYPES = frozenset(
    {
        "credential_pin",
        "mcp_tool_selection",
        "mode_change",
        "model_usage",
        "reset_boundary",
        "service_tier_change",
        "session_init",
        "title_change",
        "ttsr_injection",
    }
)
"""Entry types that only omp writes (5 … 18)."""

ATOMIC_ONLY_TYPES = frozenset({"session_summary", "context_compaction", "context_window_change"})
"""Entry types that only atomic writes (0.8.26 … 0.9.15)."""

VERBATIM_STRATEGY = "verbatim-lines"
"""`details.strategy` of atomic's compactions since 0.9.9; in atomic only these compactions have an effect."""


class Rules(Struct, frozen=True, kw_only=True):
    """The rules by which one program reads a session file.

    The defaults are those of pi 1.5.2; the comments name the programs that differ.
    """

    agent: AgentName
    # omp reads the name from the title slot; indusagi uses the last name that is not empty, as an empty one does not
    # clear.
    name: Literal["session_info", "session_info_filled", "title_slot"] = "session_info"
    # omp keeps the first of two records fused on one line; the other programs lose both.
    keeps_first_of_fused: bool = False
    # omp and indusagi drop a byte order mark; with it, the other programs cannot parse the header.
    accepts_byte_order_mark: bool = False
    # omp keeps a second header as an entry of the tree.
    later_headers_are_entries: bool = False
    # indusagi replaces a file that it cannot read by an empty session; the other programs refuse it.
    overwrites_unreadable: bool = False
    # Faults for which the program's list silently drops the file; omp's list checks only the beginning of the file.
    hidden_by: frozenset[Fault] = frozenset({"no message", "bad content", "bad name"})
    # Faults for which the program fails to open the file.
    refused_for: frozenset[Fault] = frozenset()
    # Number of bytes at the beginning of a file that the program's list reads; None means all.
    listed_head_bytes: int | None = None
    # omp fails to open a file whose header has a directory that is neither text nor null.
    refuses_odd_cwd: bool = False
    # omp's list shows the title of the slot or header; pi's list refuses a file with a slot.
    reads_title_slot: bool = False
    # omp fails to open a file with a `null` line.
    null_line_refused: bool = False
    # The algorithm that builds the model's context.
    context: Literal["pi", "omp", "atomic", "indusagi"] = "pi"
    # The rules for the rows and texts that the program's tree shows.
    tree: Literal["pi", "omp", "atomic", "indusagi"] = "pi"
    # pi's list reads with Node's readline, which also ends lines at U+2028 and U+2029, and ignores messages that are
    # cut there.
    list_splits_at_separators: bool = False
    # omp's `modified` is the file's mtime; the others' the newest user or assistant message.
    modified_is_mtime: bool = False


PI = Rules(agent="pi", list_splits_at_separators=True)
OMP = Rules(
    agent="omp",
    name="title_slot",
    keeps_first_of_fused=True,
    accepts_byte_order_mark=True,
    later_headers_are_entries=True,
    hidden_by=frozenset({"no content", "bad content"}),
    refused_for=frozenset({"no message"}),
    listed_head_bytes=4096,
    refuses_odd_cwd=True,
    reads_title_slot=True,
    null_line_refused=True,
    context="omp",
    tree="omp",
    modified_is_mtime=True,
)
ATOMIC = Rules(agent="atomic", context="atomic", tree="atomic")
INDUSAGI = Rules(
    agent="indusagi",
    name="session_info_filled",
    accepts_byte_order_mark=True,
    overwrites_unreadable=True,
    context="indusagi",
    tree="indusagi",
)
RULES: dict[str, Rules] = {rules.agent: rules for rules in (PI, OMP, ATOMIC, INDUSAGI)}
