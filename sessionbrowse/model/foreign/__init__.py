"""Sessions of Claude Code and Codex as entries of pi's format: pure functions from lines to entries."""
