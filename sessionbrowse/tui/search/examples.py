"""What can be asked of the search, as examples to choose from: they stand where the results will be."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.tui.paint.spans import Line, fit, pad


class Lesson(Struct, frozen=True):
    """An example of a query, and what it finds."""

    example: str
    finds: str


LESSONS = (
    Lesson("auth token", "both words, each from its beginning, in any order"),
    Lesson('"next to each other"', "a phrase, as it stands"),
    Lesson("re:Error: .*timeout", "a pattern, up to the end of the line"),
    Lesson("role:user", "what you said; also assistant, tool, summary …"),
    Lesson("project:webshop", "in one project; also agent:pi, name:refactor"),
    Lesson("label:works", "entries with that label"),
    Lesson("tool:bash", "calls of a tool and what they gave back"),
    Lesson("model:opus", "answers of a model"),
    Lesson("after:7d", "the last seven days; also before:2026-08, after:2026-08-13"),
    Lesson("branch:abandoned", "on branches that were left; also active, compacted"),
)


def lesson_row(lesson: Lesson, width: int) -> Line:
    """Return the example beside what it finds."""
    cells = min(26, max(16, width * 2 // 5))
    return fit([*pad([(lesson.example, "key")], cells), (lesson.finds, "dim")], width)
