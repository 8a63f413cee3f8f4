"""The text of a system message of pi (0.86): its content, its named sections, and the tools that it adds or removes."""

from __future__ import annotations

from collections.abc import Iterator

from sessionbrowse.format.entries import SystemMessage
from sessionbrowse.format.json_value import Json


def system_text(content: str, sections: Json, added: Json = None, removed: Json = None) -> str:
    """Return the text that a system message gives the model: its parts as paragraphs, in pi's order and words.

    A section that is null removes an earlier one. Tools appear only by name, because pi sends their declarations
    separately.
    """
    texts = [content]
    for name, text in sections.items() if isinstance(sections, dict) else ():
        texts.append(
            f'Removed system prompt section "{name}".' if text is None else text if isinstance(text, str) else ""
        )
    for words, tools in (("Tools added", added), ("Tools removed", removed)):
        names = ", ".join(_names(tools))
        texts.append(f"{words}: {names}." if names else "")
    return "\n\n".join(filter(None, texts))


def text_of(message: SystemMessage, content: str) -> str:
    """Return the text of a decoded system message, whose content has the text `content`."""
    return system_text(content, message.sections, message.tools_added, message.extra.get("toolsRemoved"))


def _names(tools: Json) -> Iterator[str]:
    for tool in tools if isinstance(tools, list) else ():
        name = tool.get("name") if isinstance(tool, dict) else None
        if isinstance(name, str) and name:
            yield name
