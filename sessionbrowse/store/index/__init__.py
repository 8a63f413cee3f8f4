"""The index: cached facts of every session file, so that unchanged files are not opened."""
