"""Translate the lines of Claude Code and Codex sessions into entries of pi's format. This code reads no disk."""
