"""Export a session as HTML, Markdown, JSONL or JSON."""
