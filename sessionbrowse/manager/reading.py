"""The read-only part of `SessionManager`: state, entries, tree, names, context."""

from __future__ import annotations

from typing import Any

from sessionbrowse.errors import NoSuchEntry
from sessionbrowse.manager.context import (
    SessionContext,
    SessionProjection,
    build_context_entries,
    build_session_projection,
    context_of,
)
from sessionbrowse.manager.environment import Environment, default_session_dir
from sessionbrowse.manager.memory_session import EntryObject, MemorySession, SessionTreeNode, role_of, time_ms
from sessionbrowse.manager.session_file import SessionFile

Json = Any


class SessionReader:
    """The methods of `SessionManager` that read the session in memory and change nothing."""

    _memory: MemorySession
    _file: SessionFile | None
    _cwd: str
    _dir: str
    _environment: Environment

    # ---- state ---------------------------------------------------------------------------------------------

    @property
    def agent(self) -> str:
        """The program whose rules the session follows: pi, omp, atomic or indusagi."""
        return self._memory.rules.agent

    def is_persisted(self) -> bool:
        """Return True if the session has, or will have, a file."""
        return self._file is not None

    def is_session_on_disk(self) -> bool:
        """Return True if the session has been written to disk (a method of omp 18, here for all programs)."""
        return self._file is not None and self._file.exists

    def get_cwd(self) -> str:
        """Return the session's working directory: the one in the header, or the one given on opening."""
        return self._cwd

    def get_recorded_cwd(self) -> str | None:
        """Return the working directory in the header, None if there is none (omp 17)."""
        cwd = self._memory.header.get("cwd")
        return cwd if isinstance(cwd, str) else None

    def get_session_dir(self) -> str:
        """Return the folder in which this session and its forks are saved; "" for a session in memory."""
        return self._dir

    def uses_default_session_dir(self) -> bool:
        """Return True if the session's folder is the program's default for its working directory (pi, atomic)."""
        return self._dir == default_session_dir(self._cwd, self.agent, self._environment.around)

    def get_session_id(self) -> str:
        """Return the session's id."""
        return str(self._memory.header.get("id"))

    def get_session_file(self) -> str | None:
        """Return the path of the session's file, which may not be written yet; None for a session in memory."""
        return self._file.path if self._file is not None else None

    def get_header(self) -> EntryObject:
        """Return a copy of the header; for omp, title and title source come from the title slot."""
        return dict(self._memory.header)

    def get_entry_count(self) -> int:
        """Return the number of entries; entries with the same id count once (pi 1.x)."""
        return len(self._memory.by_id)

    # ---- entries and tree ----------------------------------------------------------------------------------

    def get_entries(self) -> list[EntryObject]:
        """Return all entries in file order, without the header. Do not change the entries: they are not copies.

        Entries of v1 and v2 files are migrated; the ids given to v1 entries are the same at every opening.
        """
        return list(self._memory.entries)

    def get_entry(self, entry_id: str) -> EntryObject | None:
        """Return the entry with an id (the last one, if the id occurs twice); None if there is none."""
        return self._memory.by_id.get(entry_id)

    def get_leaf_id(self) -> str | None:
        """Return the id of the leaf; None before the first entry, or if the last line has no id."""
        return self._memory.leaf

    def get_leaf_entry(self) -> EntryObject | None:
        """Return the entry at the leaf, None if there is none."""
        return self._memory.by_id.get(self._memory.leaf) if self._memory.leaf else None

    def get_branch(self, from_id: str | None = None) -> list[EntryObject]:
        """Return the path from the root to an entry, or to the leaf; empty for an unknown id.

        The path starts at an entry whose parent is None or missing. A cycle of parents is cut at the first repeated
        entry (pi would loop endlessly).
        """
        return self._memory.branch(from_id or self._memory.leaf)

    def get_children(self, parent_id: str | None) -> list[EntryObject]:
        """Return an entry's direct children in file order; for None, the entries without a parent."""
        return self._memory.children(parent_id)

    def get_tree(self) -> list[SessionTreeNode]:
        """Return the roots of the tree (their parent is None or missing) in file order; children are sorted by time."""
        return self._memory.tree()

    def get_label(self, entry_id: str) -> str | None:
        """Return an entry's label: the last one in file order, on whichever branch it was set; None without label."""
        return self._memory.labels.get(entry_id, (None, None))[0]

    # ---- names ---------------------------------------------------------------------------------------------

    def get_session_name(self) -> str | None:
        """Return the session's display name by the rules of its program, None if there is no name.

        pi and atomic use the last `session_info` entry in file order; a blank `session_info` clears the name. indusagi
        uses the last `session_info` that is not empty. omp uses the title slot, or without a slot the header's title.
        """
        return self._memory.name()

    def get_session_name_state(self) -> str:
        """Return "named", "cleared" (the session's name was removed) or "unnamed" (it had none) (atomic 0.9.14)."""
        if self.get_session_name() is not None:
            return "named"
        return "cleared" if any(entry.get("type") == "session_info" for entry in self._memory.entries) else "unnamed"

    @property
    def title_source(self) -> str | None:
        """The origin of omp's title: "auto", "user", or None if unknown (omp 14.1)."""
        source = self._memory.header.get("titleSource")
        return source if isinstance(source, str) else None

    # ---- context -------------------------------------------------------------------------------------------

    def build_context_entries(self) -> list[EntryObject]:
        """Return the entries in pi's context at the leaf: the latest compaction, entries it keeps, and later ones."""
        return build_context_entries(self._memory.entries, self._memory.leaf, self._memory.by_id)

    def build_session_projection(self) -> SessionProjection:
        """Return pi's context, and the entry from which each message comes (pi 0.87)."""
        return build_session_projection(self._memory.entries, self._memory.leaf, self._memory.by_id)

    def build_session_context(self) -> SessionContext:
        """Return the context at the leaf by the rules of the session's program: messages, thinking level, model."""
        return context_of(self._memory)

    # ---- omp -----------------------------------------------------------------------------------------------

    def get_last_model_change_role(self) -> str | None:
        """Return the role (`default`, …) of the last model change on the active branch, None without a change (omp)."""
        for entry in reversed(self.get_branch()):
            if entry.get("type") == "model_change":
                return entry.get("role") or "default"
        return None

    def get_injected_ttsr_rules(self) -> list[str]:
        """Return the names of rules that omp gave to the model on the active branch, each once (omp).

        They are stream rules (TTSR): omp adds one to the context when the model's output matches its pattern.
        """
        rules: dict[str, None] = {}
        for entry in self.get_branch():
            if entry.get("type") == "ttsr_injection":
                rules |= dict.fromkeys(entry.get("injectedRules") or ())
        return list(rules)

    def get_credential_pins(self) -> dict[str, dict[str, Json]]:
        """Return each provider's last account on the active branch: its `hash`, and `last_used_at` in ms (omp 17.2)."""
        pins: dict[str, dict[str, Json]] = {}
        for entry in self.get_branch():
            if entry.get("type") == "credential_pin":
                pins[entry["provider"]] = {"hash": entry["hash"], "last_used_at": time_ms(entry.get("timestamp"))}
            elif role_of(entry) == "assistant" and entry["message"].get("provider") in pins:
                pin, spoken = pins[entry["message"]["provider"]], entry["message"].get("timestamp")
                pin["last_used_at"] = max(pin["last_used_at"] or 0, spoken or 0)
        return pins

    def get_additional_directories(self) -> list[str]:
        """Return the additional workspace directories in the header (omp 17.1)."""
        return list(self._memory.header.get("additionalDirectories") or ())

    # ---- shared --------------------------------------------------------------------------------------------

    def _known(self, entry_id: str) -> str:
        if entry_id not in self._memory.by_id:
            raise NoSuchEntry(f"The session has no entry {entry_id!r}.")
        return entry_id
