"""Build the context as pi 1.5.2 does, with compactions, context edits and system messages (the same since pi 0.87).

The module also has the algorithm of pi 0.50, which knows neither edits nor system messages and which indusagi still
uses, and the algorithm for indusagi's newer transcript files.
"""

from __future__ import annotations

from msgspec.structs import replace

from sessionbrowse.format.codec import content_from_json, message_from_json
from sessionbrowse.format.entries import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummary,
    Compaction,
    ContextEdit,
    CustomMessage,
    CustomRoleMessage,
    Message,
    ModelChange,
    TextBlock,
    ThinkingLevelChange,
    ToolResultMessage,
    UserMessage,
)
from sessionbrowse.model.context.message import (
    Context,
    ContextMessage,
    Draft,
    ModelRef,
    context_message,
    custom_message,
    first_kept,
    last_of_type,
    missing_reason,
    stored_message,
)
from sessionbrowse.model.session.session import Session

BEFORE_COMPACTION = "before the compaction"
# pi sends only messages with these roles; it drops others, such as messages that another program wrote.
_OLDER_ROLES = frozenset({"user", "assistant", "toolResult", "custom", "branchSummary", "compactionSummary"})
_ROLES = _OLDER_ROLES | {"system"}


def build(session: Session, path: list[int]) -> Context:
    """Return the context at the last entry of `path`, as pi 1.5.2 builds it.

    The context has the last compaction, the entries that the compaction keeps except system messages, and all later
    entries.
    """
    draft = Draft(session, path)
    selected = _selected(draft, keeps_system=False)
    edits = _edits(session, selected)
    for index in selected:
        made = _project(draft, index, is_latest=index == selected[0], roles=_ROLES, with_system=True)
        edit = edits.get(session.ids[index] or "")
        if edit is None or not made:
            draft.messages += made
        elif _removes(edit):
            draft.leave_out(index, "a context edit removes the entry")
        else:
            draft.messages += [_edited(session, message, edit) for message in made]
    model, thinking = settings(session, path)
    return draft.finish(model, thinking)


def build_older(session: Session, path: list[int]) -> Context:
    """Return the context as pi 0.50 and indusagi 0.12 build it, without context edits and system messages."""
    draft = Draft(session, path)
    selected = _selected(draft, keeps_system=True)
    for index in selected:
        draft.messages += _project(draft, index, is_latest=index == selected[0], roles=_OLDER_ROLES)
    model, thinking = settings(session, path)
    return draft.finish(model, thinking)


def build_transcript(session: Session, path: list[int]) -> Context:
    """Return the context of a path in an `indus/transcript@1` file of indusagi: all messages on the path."""
    draft = Draft(session, path)
    for index in path:
        message = stored_message(session, index)
        if message is None:
            draft.leave_out(index, missing_reason(session, index))
        else:
            role = session.envelopes[index].role
            draft.messages.append(context_message(session, index, role, message, sent=is_sent(role, message, _ROLES)))
    model, _ = settings(session, path)
    return draft.finish(model, None)


def settings(session: Session, path: list[int]) -> tuple[ModelRef | None, str | None]:
    """Return the model and thinking level at the end of a path; an answer sets the model like a model change."""
    thinking: str | None = "off"
    place = last_of_type(session, path, "thinking_level_change")
    if place is not None:
        change = session.entry(path[place])
        thinking = change.thinking_level if isinstance(change, ThinkingLevelChange) else None
    for index in reversed(path):
        kind = session.envelopes[index]
        if kind.type == "model_change":
            entry = session.entry(index)
            return (ModelRef(entry.provider, entry.model_id) if isinstance(entry, ModelChange) else None), thinking
        if kind.type == "message" and kind.role == "assistant":
            return ModelRef(kind.provider, kind.model), thinking
    return None, thinking


def entry_message(session: Session, index: int, roles: frozenset[str]) -> ContextMessage | None:
    """Return the message that the entry at `index` becomes in a context; None if the entry becomes no message."""
    match session.envelopes[index].type:
        case "message":
            message = stored_message(session, index)
            role = session.envelopes[index].role
            if message is None:
                return None
            return context_message(session, index, role, message, sent=is_sent(role, message, roles))
        case "custom_message":
            entry = session.entry(index)
            if isinstance(entry, CustomMessage):
                return context_message(session, index, "custom", custom_message(entry))
        case "branch_summary":
            entry = session.entry(index)
            if isinstance(entry, BranchSummary) and entry.summary:
                return context_message(session, index, "branchSummary", entry)
    return None


def is_sent(role: str, message: Message, roles: frozenset[str]) -> bool:
    """Return True if the program sends a message: a message with one of the `roles`, or a `!` command (not `!!`)."""
    if isinstance(message, BashExecutionMessage):
        return not message.exclude_from_context
    return role in roles


def entries_taking_part(session: Session, path: list[int]) -> list[int]:
    """Return the indexes of those entries of a path from which pi builds the context.

    These are the last compaction, the entries that it keeps, and all later entries.
    """
    return _selected(Draft(session, path), keeps_system=False)


def _selected(draft: Draft, *, keeps_system: bool) -> list[int]:
    """Return the entries from which the context is built, and store in `draft` why the other entries are omitted.

    These are the last compaction, the entries that it keeps, and all later entries; without a compaction, all entries.
    """
    session, path = draft.session, draft.path
    place = last_of_type(session, path, "compaction")
    if place is None:
        return path
    compaction = session.entry(path[place])
    kept_id = compaction.first_kept_entry_id if isinstance(compaction, Compaction) else None
    start = first_kept(session, path, place, kept_id)
    kept = path[start:place] if start is not None else []
    draft.leave_out_all(path[: place if start is None else start], BEFORE_COMPACTION)
    if not keeps_system:
        draft.leave_out_all(
            [index for index in kept if _is_system(session, index)], "a system message before the compaction"
        )
        kept = [index for index in kept if not _is_system(session, index)]
    return [path[place], *kept, *path[place + 1 :]]


def _is_system(session: Session, index: int) -> bool:
    kind = session.envelopes[index]
    return kind.type == "message" and kind.role == "system"


def _edits(session: Session, selected: list[int]) -> dict[str, ContextEdit]:
    """Return the last context edit of each edited entry, by the entry's id.

    Only edits in `selected`, the entries of the context, have an effect.
    """
    last_edits = {
        target_id: index
        for index in selected
        if session.envelopes[index].type == "context_edit"
        and (target_id := session.envelopes[index].target_id) is not None
    }
    edits = {target: session.entry(index) for target, index in last_edits.items()}
    return {target: edit for target, edit in edits.items() if isinstance(edit, ContextEdit)}


def _removes(edit: ContextEdit) -> bool:
    return edit.replacement is None and "replacement" not in edit.extra


def _project(
    draft: Draft, index: int, *, is_latest: bool, roles: frozenset[str], with_system: bool = False
) -> list[ContextMessage]:
    session = draft.session
    kind = session.envelopes[index].type
    if kind == "compaction":
        entry = session.entry(index) if is_latest else None
        return _checkpoint(session, index, entry, with_system) if isinstance(entry, Compaction) else []
    message = entry_message(session, index, roles)
    if message is not None:
        return [message]
    if kind == "message":
        draft.leave_out(index, missing_reason(session, index))
    return []


def _checkpoint(session: Session, index: int, entry: Compaction, with_system: bool) -> list[ContextMessage]:
    summary = context_message(session, index, "compactionSummary", entry)
    system = message_from_json(entry.system_message) if with_system else None
    return [summary] if system is None else [context_message(session, index, "system", system), summary]


def _edited(session: Session, message: ContextMessage, edit: ContextEdit) -> ContextMessage:
    """Return a message with the content that a context edit gives it; a message without content stays unchanged."""
    old = message.message
    content = content_from_json((edit.replacement or {}).get("content"))
    match old:
        case AssistantMessage() | ToolResultMessage():
            new: Message = replace(old, content=(TextBlock(text=content),) if isinstance(content, str) else content)
        case UserMessage() | CustomRoleMessage() if message.role in ("user", "custom"):
            new = replace(old, content=content)
        case _:
            return message
    assert message.index is not None
    return context_message(session, message.index, message.role, new, sent=message.sent)
