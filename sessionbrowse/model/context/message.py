"""The structs of a context; helpers, for all agents, that make its messages and give reasons for omitted entries."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.format.entries import (
    AssistantMessage,
    BashExecutionMessage,
    Block,
    BranchSummary,
    Compaction,
    Content,
    CustomMessage,
    CustomRoleMessage,
    FileMentionMessage,
    ImageBlock,
    Message,
    MessageEntry,
    PythonExecutionMessage,
    SystemMessage,
    TextBlock,
    ToolCallBlock,
    TranscriptNode,
    UnknownMessage,
)
from sessionbrowse.format.json_value import Json
from sessionbrowse.model.context.token_estimate import estimate
from sessionbrowse.model.session.records import CARRIAGE_RETURNS
from sessionbrowse.model.session.rules import ATOMIC_ONLY_TYPES, OMP_ONLY_TYPES
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.system_prompt import text_of

SPEAKING_TYPES = frozenset({"message", "custom_message", "branch_summary"})
"""Entry types that can become messages; only these are reported as omitted because of a compaction or `/clear`."""

_USUAL_REASONS = {
    "message": "the message is not sent to the model",
    "custom_message": "the message is not sent to the model",
    "branch_summary": "empty branch summary",
    "compaction": "older compaction",
    "model_change": "model change",
    "thinking_level_change": "thinking level change",
    "custom": "extension state",
    "label": "a label",
    "session_info": "the session's name",
    "usage": "usage record",
    "context_edit": "a context edit",
    "session_summary": "a summary for the list of sessions",
    "context_compaction": "a compaction of a retired kind",
    "context_window_change": "context window change",
    "service_tier_change": "service tier change",
    "mode_change": "mode change",
    "reset_boundary": "a /clear command",
    "title_change": "title change",
    "session_init": "the prompt and tools of a subagent",
    "ttsr_injection": "the names of rules that omp added",
    "credential_pin": "the account that served the session",
    "model_usage": "usage record",
    "mcp_tool_selection": "a choice of MCP tools",
    "session": "a second session header",
    "title": "a title slot in the wrong place",
}
_MADE_ONLY_BY = {
    **dict.fromkeys(("usage", "context_edit"), ("pi",)),
    "session_info": ("pi", "atomic", "indusagi"),
    **dict.fromkeys(ATOMIC_ONLY_TYPES, ("atomic",)),
    **dict.fromkeys(OMP_ONLY_TYPES, ("omp",)),
}


def unread_note(session: Session) -> str | None:
    """Return a warning if the context may differ from what the model would receive, else None.

    For Claude Code and Codex there is always a warning, because their rules are not published. For other agents, the
    warning is about lines that end in carriage returns, which sessionbrowse shows but the agent cannot read.
    """
    if session.rules.only_read is not None:
        return f"As the file tells it; {session.rules.only_read}'s own rules are not published."
    if all(problem.reason != CARRIAGE_RETURNS for problem in session.problems):
        return None
    return f"{session.agent} does not read lines that end in carriage returns: the model would not receive them."


def records_left_out(session: Session) -> dict[str, int]:
    """Count the records of Claude Code or Codex that became no entries, by kind, the most frequent kind first."""
    unread = session.header.unread if session.header is not None and session.rules.only_read is not None else None
    counts = [(kind, count) for kind, count in (unread or {}).items() if isinstance(count, int)]
    return dict(sorted(counts, key=lambda one: (-one[1], one[0])))


def missing_reason(session: Session, index: int) -> str:
    """Return the reason why an entry of type `message` has no usable message, as a text for the user."""
    problem = session.envelopes[index].problem
    return problem if problem is not None and problem.startswith("the message is") else "the message is missing"


def usual_reason(session: Session, index: int) -> str:
    """Return the reason why an entry is not in the context, given by the entry's type, as a text for the user."""
    kind = session.envelopes[index].type
    if not kind:
        return "the line is not an entry of a session"
    reason = _USUAL_REASONS.get(kind)
    if reason is None:
        return f"{session.agent} does not know entries of the type {kind}"
    makers = _MADE_ONLY_BY.get(kind)
    return reason if makers is None or session.agent in makers else f"{reason}, which {session.agent} ignores"


LARGEST_KEPT_IMAGE = 4096
"""Maximum size of an image that a message in a context includes, in base64 characters; larger images are omitted."""

SUMMARY_ROLES = frozenset({"branchSummary", "compactionSummary"})


class ModelRef(Struct, frozen=True):
    """The provider and id of a model as written in the session file; None if missing."""

    provider: str | None = None
    model_id: str | None = None


class ContextMessage(Struct, frozen=True, kw_only=True):
    """One message that the model receives.

    `index` is the index of the message's entry in the session. `text` is the text for the JSON document of the context:
    depending on the role, text blocks joined by newlines, a summary, a command, code, or paths. `message` is the
    message after context edits, or the entry of a summary; images over 4 KiB are without data. `blocks` are the content
    blocks, or blocks sent along with a summary. `sent` is False if the program keeps the message in its list, but does
    not send it to the model.
    """

    role: str
    entry_id: str | None
    index: int | None
    text: str
    message: Message | Compaction | BranchSummary
    custom_type: str | None = None
    images: int = 0
    tokens: int = 0
    sent: bool = True
    blocks: tuple[Block, ...] = ()
    tool_calls: tuple[str, ...] = ()


class LeftOut(Struct, frozen=True):
    """An entry on the path that is not in the context, with the reason as a text for the user."""

    entry_id: str | None
    index: int
    reason: str


class OmpSettings(Struct, frozen=True, kw_only=True):
    """The settings that omp restores from the entries on a path, such as models by role and the mode."""

    models: dict[str, str]
    service_tier: dict[str, str] | None = None
    mode: str = "none"
    mode_data: Json = None
    injected_ttsr_rules: tuple[str, ...] = ()
    configured_thinking_level: str | None = None


class Context(Struct, frozen=True, kw_only=True):
    """The context that the model would receive at an entry; `tokens` is an estimate (see `token_estimate`)."""

    at: str | None
    index: int | None
    model: ModelRef | None
    thinking_level: str | None
    messages: tuple[ContextMessage, ...]
    left_out: tuple[LeftOut, ...]
    tokens: int
    omp: OmpSettings | None = None
    note: str | None = None
    """A warning if the agent program cannot read some messages, because their lines end in carriage returns; or None.

    The messages are in `messages` nevertheless.
    """


class Draft:
    """A context under construction: the messages so far, and the reasons why other entries are omitted."""

    def __init__(self, session: Session, path: list[int]) -> None:
        self.session = session
        self.path = path
        self.messages: list[ContextMessage] = []
        self._reasons: dict[int, str] = {}

    def leave_out(self, index: int, reason: str) -> None:
        """Store the reason why the entry at `index` is not in the context."""
        self._reasons[index] = reason

    def leave_out_all(self, indexes: Iterable[int], reason: str) -> None:
        """Store a reason why entries are not in the context; skip entries whose types never become messages."""
        for index in indexes:
            if self.session.envelopes[index].type in SPEAKING_TYPES:
                self._reasons[index] = reason

    def finish(self, model: ModelRef | None, thinking: str | None, omp: OmpSettings | None = None) -> Context:
        """Return the finished context; entries on the path without a message are listed with a reason."""
        ids = self.session.ids
        included = {message.index for message in self.messages}
        left_out = [
            LeftOut(ids[index], index, self._reasons.get(index) or usual_reason(self.session, index))
            for index in self.path
            if index not in included
        ]
        last = self.path[-1] if self.path else None
        return Context(
            at=ids[last] if last is not None else None,
            index=last,
            model=model,
            thinking_level=thinking,
            messages=tuple(self.messages),
            left_out=tuple(left_out),
            tokens=sum(message.tokens for message in self.messages),
            omp=omp,
            note=unread_note(self.session),
        )


def stored_message(session: Session, index: int) -> Message | None:
    """Return the message in the entry at `index`; None if the message is missing or not a JSON object."""
    entry = session.entry(index)
    return entry.message if isinstance(entry, MessageEntry | TranscriptNode) else None


def custom_message(entry: CustomMessage) -> CustomRoleMessage:
    """Return the message that the model receives for a `custom_message` entry."""
    return CustomRoleMessage(
        content=entry.content,
        custom_type=entry.custom_type,
        display=entry.display,
        details=entry.details,
        attribution=entry.attribution,
    )


def context_message(
    session: Session,
    index: int,
    role: str,
    message: Message | Compaction | BranchSummary,
    *,
    sent: bool = True,
    beside: tuple[Block, ...] = (),
) -> ContextMessage:
    """Return the message that the entry at `index` becomes in a context, made from `message`.

    `beside` are blocks that omp sends with a summary. `sent` is False for a message that the program does not send.
    """
    if not isinstance(message, Compaction | BranchSummary):
        message = _without_large_images(message)
    content = _content(message)
    blocks = _lightened((TextBlock(text=content),) if isinstance(content, str) else content or ()) + _lightened(beside)
    return ContextMessage(
        role=role,
        entry_id=session.ids[index],
        index=index,
        text=_text(role, message),
        message=message,
        custom_type=message.custom_type if isinstance(message, CustomRoleMessage) else None,
        images=sum(isinstance(block, ImageBlock) for block in blocks) + _attached_images(message),
        tokens=estimate(message, beside) if sent else 0,
        sent=sent,
        blocks=blocks,
        tool_calls=tuple([block.id for block in blocks if isinstance(block, ToolCallBlock) and block.id is not None]),
    )


def unsent(message: ContextMessage) -> ContextMessage:
    """Return a message with `sent` set to False: the agent program keeps the message, but omits it in requests."""
    return replace(message, sent=False, tokens=0)


def content_text(content: Content) -> str:
    """Return the text of a message's content: its text blocks joined by newlines, or the content if it is text."""
    if isinstance(content, str):
        return content
    return "\n".join([block.text for block in content or () if isinstance(block, TextBlock) and block.text is not None])


def last_of_type(session: Session, path: list[int], *types: str) -> int | None:
    """Return the position in `path` of the last entry that has one of the types; None if there is none."""
    for place in range(len(path) - 1, -1, -1):
        if session.envelopes[path[place]].type in types:
            return place
    return None


def first_kept(session: Session, path: list[int], compaction_place: int, kept_id: str | None) -> int | None:
    """Return the position in `path` of the first entry that a compaction keeps.

    Return None if no entry before the compaction has the id `kept_id`.
    """
    if kept_id is None:
        return None
    for place in range(compaction_place):
        if session.ids[path[place]] == kept_id:
            return place
    return None


def _content(message: Message | Compaction | BranchSummary) -> Content:
    match message:
        case Compaction() | BranchSummary() | BashExecutionMessage() | PythonExecutionMessage() | FileMentionMessage():
            return None
        case _:
            return message.content


def _text(role: str, message: Message | Compaction | BranchSummary) -> str:
    match message:
        case Compaction() | BranchSummary():
            return message.summary or ""
        case BashExecutionMessage():
            return message.command or ""
        case PythonExecutionMessage():
            return message.code or ""
        case FileMentionMessage():
            paths = [file.get("path") if isinstance(file, dict) else None for file in message.files or ()]
            return "\n".join([path if isinstance(path, str) else "" for path in paths])
        case SystemMessage():
            return text_of(message, content_text(message.content))
        case UnknownMessage() if role in SUMMARY_ROLES and isinstance(message.extra.get("summary"), str):
            return str(message.extra["summary"])
        case _:
            return content_text(message.content)


def _attached_images(message: Message | Compaction | BranchSummary) -> int:
    """Return the number of images that omp attached to a command or to mentioned files, outside of the content."""
    match message:
        case BashExecutionMessage():
            return len(message.images or ())
        case FileMentionMessage():
            return sum(isinstance(file, dict) and isinstance(file.get("image"), dict) for file in message.files or ())
        case _:
            return 0


def _without_large_images(message: Message) -> Message:
    match message:
        case BashExecutionMessage() | PythonExecutionMessage() | FileMentionMessage() | AssistantMessage():
            return message
        case _ if isinstance(message.content, tuple) and any(map(_is_large_image, message.content)):
            return replace(message, content=_lightened(message.content))
        case _:
            return message


def _lightened(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    if not any(map(_is_large_image, blocks)):
        return blocks
    return tuple([replace(block, data=None) if _is_large_image(block) else block for block in blocks])


def _is_large_image(block: Block) -> bool:
    return isinstance(block, ImageBlock) and block.data is not None and len(block.data) > LARGEST_KEPT_IMAGE
