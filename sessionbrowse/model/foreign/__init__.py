"""Sessions of Claude Code and Codex as entries of pi's format: pure functions from lines to entries."""

from __future__ import annotations

from sessionbrowse.model.foreign.claude import claude
from sessionbrowse.model.foreign.codex import codex

TRANSLATORS = {"claude": claude, "codex": codex}
"""The functions that return the session in the lines of a file, by the agent that wrote it."""
