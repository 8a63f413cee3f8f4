"""The differences in how the agent programs read a session file, as values that the code in `model/` follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from sessionbrowse.format.envelope import Fault

AgentName = Literal["pi", "omp", "atomic", "indusagi", "claude", "codex"]

ONLY = "only-"
"""Prefix of marks for content that only one agent can read, such as omp's title slot or a transcript."""

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
"""Entry types that only omp writes (versions 5 to 18)."""

ATOMIC_ONLY_TYPES = frozenset({"session_summary", "context_compaction", "context_window_change"})
"""Entry types that only atomic writes (versions 0.8.26 to 0.9.15)."""

VERBATIM_STRATEGY = "verbatim-lines"
"""The value of `details.strategy` in compactions of atomic since 0.9.9; atomic ignores all other compactions."""


class Rules(Struct, frozen=True, kw_only=True):
    """The rules by which one agent program reads a session file.

    The default values are the rules of pi 1.5.2; comments above the fields tell what the other programs do.
    """

    agent: AgentName
    # pi uses the name in the last `session_info` entry, indusagi the last name that is not empty, and omp the name in
    # the title slot.
    name: Literal["session_info", "session_info_filled", "title_slot"] = "session_info"
    # omp keeps the first of two entries that were fused on one line; the other programs lose both entries.
    keeps_first_of_fused: bool = False
    # omp and indusagi drop a byte order mark; the other programs cannot parse a header that begins with one.
    accepts_byte_order_mark: bool = False
    # omp shows a second session header as an entry of the tree; the other programs ignore it.
    later_headers_are_entries: bool = False
    # indusagi overwrites a file that it cannot read with an empty session; the other programs do not open such a file.
    overwrites_unreadable: bool = False
    # If an entry has a mistake that is in `hidden_by`, the program's session list silently omits the file.
    hidden_by: frozenset[Fault] = frozenset({"no message", "bad content", "bad name"})
    # If an entry has a mistake that is in `refused_for`, the program fails to open the file.
    refused_for: frozenset[Fault] = frozenset()
    # `listed_head_bytes` is the number of bytes of a file that the program's session list reads; None means all.
    listed_head_bytes: int | None = None
    # omp fails to open a file whose header has a working directory that is neither text nor null.
    refuses_odd_cwd: bool = False
    # omp reads its own title slot; the other programs can neither list nor open a file that begins with a title slot.
    reads_title_slot: bool = False
    # omp fails to open a file that has a line with only `null`.
    null_line_refused: bool = False
    # `context` names the program whose algorithm builds the context that the model receives.
    context: Literal["pi", "omp", "atomic", "indusagi"] = "pi"
    # `tree` names the program whose rules decide the rows of a session's tree and their texts.
    tree: Literal["pi", "omp", "atomic", "indusagi"] = "pi"
    # pi's session list reads files with Node's readline, which also splits lines at U+2028 and U+2029. The list
    # therefore misses messages that contain these characters.
    list_splits_at_separators: bool = False
    # In omp's list, the date of a session is its file's mtime; in other programs, that of the newest user message or
    # answer.
    modified_is_mtime: bool = False
    # `only_read` is the name of a program with another format: its sessions are read as if they were pi's, and its
    # files are never written.
    only_read: str | None = None


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
CLAUDE = Rules(agent="claude", name="title_slot", only_read="Claude Code")
CODEX = Rules(agent="codex", name="title_slot", only_read="Codex")
RULES: dict[str, Rules] = {rules.agent: rules for rules in (PI, OMP, ATOMIC, INDUSAGI, CLAUDE, CODEX)}
