"""Look into one session: documents and comparison."""
