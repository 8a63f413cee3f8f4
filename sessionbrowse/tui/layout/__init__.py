"""Text laid out in lines: Markdown, code, tables, folds."""
