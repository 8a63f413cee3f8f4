"""Extract the text of a message in the form in which the agents' session lists show it."""

from __future__ import annotations

from sessionbrowse.format.json_value import BadJson, Json, loads

MAX_FIRST_MESSAGE_BYTES = 64 * 1024


def joined_text(raw: bytes) -> str:
    """Return the text of the message in a line, as the agents' session lists show it: text blocks joined by blanks."""
    try:
        value = loads(raw)
    except BadJson:
        return ""
    message = value.get("message") if isinstance(value, dict) else None
    content: Json = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"]
    return " ".join(text if isinstance(text, str) else "" for text in texts)


def first_message_of(raw: bytes) -> tuple[str | None, bool]:
    """Return the text of the message in a line, cut to `MAX_FIRST_MESSAGE_BYTES`, and True if it was cut.

    The text is None if the message has no text.
    """
    text = joined_text(raw)
    return cut_to_bytes(text) if text else (None, False)


def cut_to_bytes(text: str) -> tuple[str, bool]:
    """Return the beginning of a text, at most `MAX_FIRST_MESSAGE_BYTES` bytes, and True if the text is longer."""
    if len(text) <= MAX_FIRST_MESSAGE_BYTES // 4:
        return text, False
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= MAX_FIRST_MESSAGE_BYTES:
        return text, False
    return encoded[:MAX_FIRST_MESSAGE_BYTES].decode("utf-8", "ignore"), True
