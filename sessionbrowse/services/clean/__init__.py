"""Commands that clean sessions: prune, shrink, repair and redact make a clean copy; cleanup moves sessions to trash."""
