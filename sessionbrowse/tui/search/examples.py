"""Examples of queries, which the preview shows while the search line is empty."""

from __future__ import annotations

from sessionbrowse.tui.layout.parts import LinePart, Part

EXAMPLES = {
    "auth token": "both words in any order, also as word prefixes",
    '"auth token"': "an exact phrase",
    "auth -token": "without a word",
    "after:7d": "the last seven days; also before:2026-08, after:yesterday",
    "role:user": "your messages; also role:assistant, role:tool …",
    "project:webshop": "in one project; also agent:pi, name:jwt, machine:mini",
    "label:works": "entries whose label contains the word",
    "tool:bash": "a tool's calls and results",
    "model:opus": "answers of a model",
    "branch:abandoned": "on abandoned branches; also branch:active, branch:compacted",
    "re:Err.*timeout": "a regular expression, which takes the rest of the line",
}
"""Descriptions of the entries that an example of a query finds."""


def example_parts(scope_key: str, tools_key: str, sort_key: str) -> list[Part]:
    """Return the examples, and the keys that change what is searched, as parts of a document."""
    parts: list[Part] = [LinePart([("Search", "title")]), LinePart([])]
    for query, finds in EXAMPLES.items():
        parts += [LinePart([(query, "key")]), LinePart([("  " + finds, "dim")])]
    keys = f"{scope_key} this project or all · {tools_key} tool calls too · {sort_key} order · ↑ earlier searches"
    return [*parts, LinePart([]), LinePart([(keys, "dim")])]
