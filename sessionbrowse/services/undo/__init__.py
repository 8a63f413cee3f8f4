"""Undo changes that the journal records."""
