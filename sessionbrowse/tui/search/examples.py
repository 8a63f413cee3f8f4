"""Examples of queries, which the search screen lists while the query line is empty."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.tui.paint.spans import Line, fit, pad


class Example(Struct, frozen=True):
    """An example of a query, with a description of the entries that it finds."""

    query: str
    finds: str


EXAMPLES = (
    Example("auth token", "both words in any order, also as word prefixes"),
    Example('"next to each other"', "an exact phrase"),
    Example("re:Error: .*timeout", "a regular expression, up to the end of the query"),
    Example("role:user", "your messages; also role:assistant, role:tool …"),
    Example("project:webshop", "in one project; also agent:pi, name:refactor"),
    Example("label:works", "entries whose label contains the word"),
    Example("tool:bash", "a tool's calls and results"),
    Example("model:opus", "answers of a model"),
    Example("after:7d", "the last seven days; also before:2026-08, after:2026-08-13"),
    Example("branch:abandoned", "on abandoned branches; also branch:active, branch:compacted"),
)


def example_row(example: Example, width: int) -> Line:
    """Return the row of an example: the query and its description."""
    cells = min(26, max(16, width * 2 // 5))
    return fit([*pad([(example.query, "key")], cells), (example.finds, "dim")], width)
