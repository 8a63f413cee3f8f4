"""The part of `SessionManager` that adds entries, with one method for each entry type of pi, omp and atomic.

The keys of an entry are in the programs' order: after `type` come `id`, `parentId` and `timestamp`, but in custom
entries and custom messages these three keys come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from sessionbrowse.agents import AGENTS
from sessionbrowse.agents.change_plans import AppendLine, title_name
from sessionbrowse.errors import NoSuchEntry, RefusedWrite
from sessionbrowse.format import ids
from sessionbrowse.format.title_slot import Source
from sessionbrowse.manager.arguments import check_entry, check_usage, checked_arguments
from sessionbrowse.manager.context import current_system_message
from sessionbrowse.manager.memory_session import EntryObject, memory_session_of, plain, role_of
from sessionbrowse.manager.reading import SessionReader
from sessionbrowse.manager.session_file import SessionFile, entry_of, lines_of
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.write_checks import refuse_only_read_agent
from sessionbrowse.text import iso_ms, parse_time

Json = Any
Optional = Json | UnsetType

_EDITABLE = frozenset({"user", "assistant", "toolResult"})
_PUT_BACK = frozenset({"session_info", "label"})
"""Entry types that are appended without a change of the file's modification time.

So naming or labelling a session does not make it the one that `--continue` resumes.
"""


@checked_arguments
class SessionAppender(SessionReader):
    """The part of `SessionManager` that adds entries below the leaf and moves the leaf.

    Every method that adds an entry raises: RefusedWrite: the file may not be changed (it has an older format, is a link
        out of its directory, or belongs to another program). InUse: a running omp may have the session open, and would
        stop saving it after another program adds an entry; `force` on opening skips this check. WriteFailed: an I/O
        error occurred; the entry is neither in the file nor in memory. TypeError, ValueError: an argument, named by the
        error, has a wrong type, or a value such as NaN that would keep the programs from listing or opening the
        session.
    """

    _title_updated_at: str

    # ---- entries of all programs ---------------------------------------------------------------------------

    def append_message(self, message: Json) -> str:
        """Add a message below the leaf and return the entry's id.

        `message` is an object with the file's keys (`role`, `content`, `timestamp` in milliseconds, …) or a struct of
        `format.entries`. A new session is written to its file with the first assistant message, in pi also with the
        first user message; until then the entries stay in memory.
        """
        return self._append("message", {"message": plain(message)})

    def append_thinking_level_change(self, level: str | None, *, configured: str | None = None) -> str:
        """Record the thinking level (off, minimal, low, medium, high, xhigh, max) and return the entry's id.

        Only omp accepts None, and stores `configured`: the level that the user chose, or `auto` (omp 16.1).
        """
        if level is None and self.agent != "omp":
            raise TypeError("level must be str, not None")
        fields: EntryObject = {"thinkingLevel": level}
        if self.agent == "omp":
            fields["configured"] = configured
        return self._append("thinking_level_change", fields)

    def append_model_change(
        self, provider: str, model_id: str | None = None, *, role: str | None = None, is_fallback: bool = False
    ) -> str:
        """Record a change of model and return the entry's id.

        For omp, `provider` may be a text `provider/id`; the second argument is then the role, as in omp's own method.
        Only omp stores the role and `is_fallback` (True if a retry chose the model).
        """
        if self.agent != "omp":
            if model_id is None:
                raise TypeError(f"model_id must be str, not None: {self.agent} writes provider and model separately")
            return self._append("model_change", {"provider": provider, "modelId": model_id})
        if model_id is not None and role is None and "/" in provider:
            role, model_id = model_id, None
        model = provider if model_id is None else f"{provider}/{model_id}"
        fields = {"model": model, **_given(role=role), "resolvedModelIsFallback": is_fallback}
        return self._append("model_change", fields)

    def append_compaction(
        self,
        summary: str,
        first_kept_entry_id: str | None,
        tokens_before: int,
        details: Optional = UNSET,
        from_hook: bool | UnsetType = UNSET,
        usage: Optional = UNSET,
        *,
        short_summary: str | None = None,
        tokens_after: int | None = None,
        method: str | None = None,
        provider_replay_through_entry_id: str | None = None,
        preserve_data: Json = None,
    ) -> str:
        """Record a compaction and return the entry's id; token counts are estimates of the context before and after.

        If `first_kept_entry_id` is None, no earlier entry is kept; the file then has null (atomic) or the new entry's
        own id (pi 0.87, indusagi); for omp the call is refused. In pi sessions the entry also gets a system message
        with the current prompt and tools (pi 0.86). The keyword-only arguments are for omp. omp's own order of
        arguments, with the short summary second, is refused. omp stores `from_hook` as `fromExtension`. atomic ignores
        a compaction whose `details.strategy` is not `verbatim-lines`.
        """
        entry_id = self._new_id()
        now = self._environment.now_ms()
        fields: EntryObject = {"summary": summary}
        if self.agent == "omp":
            if first_kept_entry_id is None:
                raise RefusedWrite("A compaction of omp needs a first kept entry: pass `first_kept_entry_id`.")
            fields |= _given(shortSummary=short_summary)
            fields |= {"firstKeptEntryId": first_kept_entry_id, "tokensBefore": tokens_before}
            fields |= _given(
                tokensAfter=tokens_after, method=method, providerReplayThroughEntryId=provider_replay_through_entry_id
            )
            fields |= _set(details=details, fromExtension=from_hook) | _given(preserveData=preserve_data)
            return self._append("compaction", fields, entry_id=entry_id, now_ms=now)
        kept = entry_id if first_kept_entry_id is None and self.agent != "atomic" else first_kept_entry_id
        fields |= {"firstKeptEntryId": kept, "tokensBefore": tokens_before} | _set(details=details)
        if self.agent == "pi":
            fields |= _set(usage=usage)
        fields |= _set(fromHook=from_hook)
        system = current_system_message(self.build_session_projection().messages) if self.agent == "pi" else None
        if system is not None:
            fields["systemMessage"] = {**system, "timestamp": int(now)}
        return self._append("compaction", fields, entry_id=entry_id, now_ms=now)

    def append_custom_entry(self, custom_type: str, data: Optional = UNSET) -> str:
        """Add a custom entry (state of an extension, never sent to the model) and return the entry's id."""
        return self._append("custom", {"customType": custom_type, **_set(data=data)}, own_first=True)

    def append_custom_message_entry(
        self,
        custom_type: str,
        content: str | Sequence[Json],
        display: bool,
        details: Optional = UNSET,
        *,
        attribution: str = "agent",
        timestamp_ms: float | None = None,
        exclude_from_context: bool = False,
        stage_admission_key: str | None = None,
        protected_reconciliation: Json = None,
    ) -> str:
        """Add a custom message (a message of an extension, sent to the model) and return the entry's id.

        `content` is text or a list of blocks. With `display` the program shows the message on its screen. Only omp
        uses `attribution` ("user" or "agent") and `timestamp_ms`; only atomic uses the last three arguments.
        """
        fields = {"customType": custom_type, "content": plain(content), "display": display, **_set(details=details)}
        if self.agent == "omp":
            fields["attribution"] = attribution
        elif self.agent == "atomic":
            fields |= {"excludeFromContext": True} if exclude_from_context else {}
            fields |= _given(stageAdmissionKey=stage_admission_key, protectedReconciliation=protected_reconciliation)
        return self._append("custom_message", fields, own_first=True, now_ms=timestamp_ms)

    def append_session_info(self, name: str) -> str:
        """Name the session and return the entry's id; an empty name clears the name (not in indusagi).

        pi replaces line breaks by one space and trims the name (0.80); atomic and indusagi only trim it. Unlike the
        programs, this method turns control characters, U+2028 and U+2029 into spaces. omp has no `session_info` entry,
        so the call is refused: see `set_session_name`.
        """
        self._only("append_session_info", "pi", "atomic", "indusagi")
        return self._append("session_info", {"name": AGENTS[self.agent].clean_name(name)})

    def append_label_change(self, target_id: str, label: str | None = None) -> str:
        """Set an entry's label, or clear it with None or "", and return the id of the new label entry.

        Raises:
            NoSuchEntry: the session has no entry `target_id`.
        """
        return self._append("label", {"targetId": self._known(target_id), **_given(label=label)})

    # ---- pi ------------------------------------------------------------------------------------------------

    def append_usage(self, kind: str, provider: str, model: str, usage: Json, note: str | None = None) -> EntryObject:
        """Record the cost of a model call that added no message to the session, and return the new entry (pi 0.86)."""
        self._only("append_usage", "pi")
        fields = {"kind": kind, "provider": provider, "model": model, "usage": plain(usage)}
        return self._memory.by_id[self._append("usage", fields | ({"note": note} if note else {}))]

    def append_context_edit(self, target_id: str, replacement: Json) -> str:
        """Replace an earlier message in the context, or hide it if `replacement` is None; return the new entry's id.

        Raises:
            NoSuchEntry: the session has no entry `target_id`, or the entry is not on the active branch.
            RefusedWrite: the entry has no content that can be edited, or `replacement` is neither None nor an object
            with content (pi 0.87).
        """
        self._only("append_context_edit", "pi")
        content = replacement.get("content") if isinstance(replacement, dict) else None
        if replacement is not None and not isinstance(content, str | list):
            raise RefusedWrite("A context edit needs a replacement: None, or an object with content (text or blocks).")
        target = self._memory.by_id[self._known(target_id)]
        if not any(entry is target for entry in self.get_branch()):
            raise NoSuchEntry(f"The entry {target_id!r} is not on the active branch.")
        role = role_of(target)
        if target.get("type") != "custom_message" and role not in _EDITABLE:
            raise RefusedWrite(f"The entry {target_id!r} has nothing that can be edited.")
        if role in ("assistant", "toolResult") and isinstance(content, str):
            replacement = {"content": [{"type": "text", "text": content}]}
        return self._append("context_edit", {"targetId": target_id, "replacement": plain(replacement)})

    # ---- atomic --------------------------------------------------------------------------------------------

    def append_session_summary(self, summary: str, summarized_through_id: str, usage: Optional = UNSET) -> str:
        """Store the session's summary, which atomic's list shows, and return the entry's id (atomic 0.9.13)."""
        self._only("append_session_summary", "atomic")
        fields = {"summary": summary, "summarizedThroughId": summarized_through_id, **_set(usage=usage)}
        return self._append("session_summary", fields)

    # ---- omp -----------------------------------------------------------------------------------------------

    def append_message_to_branch(self, message: Json, parent_id: str | None) -> str:
        """Add a message below any entry without moving the leaf; return the new entry's id (omp 18)."""
        self._only("append_message_to_branch", "omp")
        return self._append_aside("message", {"message": plain(message)}, parent_id)

    def append_model_usage(self, usage: dict[str, Json], parent_id: str | None) -> str:
        """Record a model call that added no message, as a child of the entry that caused it; return the id (omp 18).

        `usage` has the entry's own keys: `purpose`, `role`, `api`, `provider`, `model`, `usage`, `stopReason`, …
        """
        self._only("append_model_usage", "omp")
        check_usage("usage", usage.get("usage"))
        if parent_id == self._memory.leaf:
            return self._append("model_usage", plain(usage))
        return self._append_aside("model_usage", plain(usage), parent_id)

    def append_service_tier_change(self, service_tier: dict[str, str] | str | None) -> str:
        """Record the service tier, such as `priority`, of each provider (`openai`, …); return the entry's id (omp)."""
        self._only("append_service_tier_change", "omp")
        return self._append("service_tier_change", {"serviceTier": service_tier})

    def append_mode_change(self, mode: str, data: Optional = UNSET) -> str:
        """Record omp's mode (plan, goal, …, none), and return the entry's id (omp 11.3)."""
        self._only("append_mode_change", "omp")
        return self._append("mode_change", {"mode": mode, **_set(data=data)})

    def append_session_init(self, init: dict[str, Json]) -> str:
        """Record a subagent's start data (`systemPrompt`, `task`, `tools`, …); return the entry's id (omp 8.5)."""
        self._only("append_session_init", "omp")
        return self._append("session_init", plain(init))

    def append_reset_boundary(self) -> str:
        """Record that the user cleared the context: the model gets no older entry; return the new id (omp 17)."""
        self._only("append_reset_boundary", "omp")
        return self._append("reset_boundary", {})

    def append_ttsr_injection(self, rule_names: Sequence[str]) -> str:
        """Record the names of rules that omp gave to the model, and return the entry's id (omp).

        They are stream rules (TTSR): omp adds one to the context when the model's output matches its pattern.
        """
        self._only("append_ttsr_injection", "omp")
        return self._append("ttsr_injection", {"injectedRules": list(rule_names)})

    def append_credential_pin(self, provider: str, hash: str) -> str:
        """Record which account of a provider is used, as the account's hash, and return the entry's id (omp 17.2)."""
        self._only("append_credential_pin", "omp")
        return self._append("credential_pin", {"provider": provider, "hash": hash})

    def ingest_replicated_entry(self, entry: EntryObject) -> None:
        """Add a copy of another session's entry, with the same id and parent id (omp).

        Raises:
            RefusedWrite: the entry has no id, or an id that the session already has.
        """
        self._only("ingest_replicated_entry", "omp")
        if not isinstance(entry.get("type"), str) or not isinstance(entry.get("parentId"), str | None):
            raise TypeError("entry must have a type that is str, and a parentId that is str or None")
        entry_id = entry.get("id")
        if not isinstance(entry_id, str) or entry_id in self._memory.by_id:
            raise RefusedWrite("A replicated entry needs an id that the session does not have yet.")
        rest = {key: value for key, value in entry.items() if key not in ("type", "id", "parentId", "timestamp")}
        stamp = parse_time(str(entry.get("timestamp")))
        self._append(str(entry["type"]), rest, entry_id=entry_id, parent_id=entry.get("parentId"), now_ms=stamp)

    def set_session_name(self, name: str, source: Source = "auto", trigger: str | None = None) -> bool:
        """Name the session as omp does, by a `title_change` entry and the title slot; return False if nothing changed.

        An automatic title does not replace a title that the user gave, and an empty title changes nothing. For pi,
        atomic and indusagi the method calls `append_session_info`.
        """
        if self.agent != "omp":
            self.append_session_info(name)
            return True
        title = title_name(name)
        if not title or (self.title_source == "user" and source == "auto"):
            return False
        previous = self.get_session_name()
        now = self._environment.now_ms()
        fields = {"title": title, "source": source, **_given(previousTitle=previous, trigger=trigger)}
        file = self._file
        if file is None or not file.exists:
            self._memory.header |= {"title": title, "titleSource": source}
            self._title_updated_at = iso_ms(now)
            self._append("title_change", fields, now_ms=now)
            return True
        file.check_title()
        self._append("title_change", fields, now_ms=now)
        file.set_title(title, source, iso_ms(now))
        self._memory.header |= {"title": title, "titleSource": source}
        return True

    # ---- moving --------------------------------------------------------------------------------------------

    def branch(self, entry_id: str) -> None:
        """Move the leaf to an earlier entry, so that the next entry becomes a child of that entry. Only memory changes.

        Raises:
            NoSuchEntry: the session has no entry `entry_id`.
        """
        self._memory.leaf = self._known(entry_id)

    def reset_leaf(self) -> None:
        """Move the leaf before the first entry, so that the next entry has no parent. Only memory changes."""
        self._memory.leaf = None

    def branch_with_summary(
        self,
        entry_id: str | None,
        summary: str,
        details: Optional = UNSET,
        from_hook: bool | UnsetType = UNSET,
        usage: Optional = UNSET,
    ) -> str:
        """Move the leaf to an entry (None: before the first), append a branch summary, and return the summary's id.

        The summary is about the branch that is left. Its `fromId` is the old leaf in pi (0.84.3), and `entry_id` in the
        other programs; "root" stands for None. omp stores `from_hook` as `fromExtension`. Only pi and atomic store
        `usage`.

        Raises:
            NoSuchEntry: the session has no entry `entry_id`.
        """
        if entry_id is not None:
            self._known(entry_id)
        left = self._memory.leaf if self.agent == "pi" else entry_id
        fields: EntryObject = {"fromId": left or "root", "summary": summary, **_set(details=details)}
        if self.agent in ("pi", "atomic"):
            fields |= _set(usage=usage)
        fields |= _set(fromExtension=from_hook) if self.agent == "omp" else _set(fromHook=from_hook)
        return self._append("branch_summary", fields, parent_id=entry_id)

    # ---- shared --------------------------------------------------------------------------------------------

    def _append(
        self,
        kind: str,
        fields: EntryObject,
        *,
        own_first: bool = False,
        entry_id: str | None = None,
        parent_id: str | UnsetType | None = UNSET,
        now_ms: float | None = None,
    ) -> str:
        """Add an entry to memory and to the file, below the leaf unless `parent_id` is given; return the new id."""
        check_entry(kind, fields, self.agent)
        now = self._environment.now_ms() if now_ms is None else now_ms
        file = self._file
        if file is not None and file.exists and file.changed():
            self._reload(file)
        wanted = entry_id if entry_id and entry_id not in self._memory.by_id else self._new_id()
        parent = self._memory.leaf if parent_id is UNSET else parent_id
        keeps_place = file is not None and file.exists and parent_id is UNSET and self._is_at_end()
        plan = AppendLine(
            type=kind,
            fields=fields,
            own_first=own_first,
            parent_id=UNSET if keeps_place else parent,
            keep_mtime=kind in _PUT_BACK,
        )
        if file is not None and file.exists:
            return self._append_to_file(file, plan, wanted, now)
        take_back = self._memory.without_last()
        self._memory.add(entry_of(plan, wanted, parent, now))
        if file is not None and self._memory.has_conversation():
            try:
                file.create(lines_of(self._memory, self._title_updated_at))
            except Exception:
                take_back()
                raise
        return wanted

    def _append_to_file(self, file: SessionFile, plan: AppendLine, wanted: str, now: float) -> str:
        placed = file.append(plan, wanted, now)
        if placed.others_wrote:
            self._memory = memory_session_of(open_session(file.path, self.agent))
            file.read()
            self._memory.leaf = placed.entry_id
        else:
            self._memory.add(entry_of(plan, placed.entry_id, placed.parent_id, now))
        return placed.entry_id

    def _append_aside(self, kind: str, fields: EntryObject, parent_id: str | None) -> str:
        if parent_id is not None:
            self._known(parent_id)
        leaf = self._memory.leaf
        entry_id = self._append(kind, fields, parent_id=parent_id)
        self._memory.leaf = leaf
        return entry_id

    def _reload(self, file: SessionFile) -> None:
        """Reload the file after other programs appended to it; a leaf at the end of the file moves to the new end."""
        stood_at, was_at_end = self._memory.leaf, self._is_at_end()
        self._memory = memory_session_of(open_session(file.path, self.agent))
        file.read()
        if not was_at_end and (stood_at is None or stood_at in self._memory.by_id):
            self._memory.leaf = stood_at

    def _is_at_end(self) -> bool:
        return self._memory.leaf == self._memory.last_id

    def _new_id(self) -> str:
        return ids.entry_id(self._memory.by_id, self._environment.random_bytes)

    def _only(self, method: str, *agents: str) -> None:
        refuse_only_read_agent(self.agent)
        if self.agent not in agents:
            raise RefusedWrite(f"{self.agent} has no {method}: only {' and '.join(agents)} can do that.")


def _given(**fields: Json) -> EntryObject:
    """Return an entry's fields without those that are None: JavaScript's `JSON.stringify` omits undefined fields."""
    return {key: plain(value) for key, value in fields.items() if value is not None}


def _set(**fields: Optional) -> EntryObject:
    """Return an entry's fields without those that the caller did not pass (UNSET); None is kept as null."""
    return {key: plain(value) for key, value in fields.items() if value is not UNSET}
