"""Lay out text in rows: Markdown, code, tables, folds."""
