"""The search of all sessions, and the list of checkpoints."""
