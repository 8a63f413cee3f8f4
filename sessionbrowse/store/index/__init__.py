"""The index: what is known of every session file, so that unchanged files need not be opened. A cache, never the truth."""
