"""The index: a SQLite cache of facts about every session file, so that unchanged files need not be opened."""
