"""Lay out documents in screen rows: Markdown, code, tables, images, folds."""
