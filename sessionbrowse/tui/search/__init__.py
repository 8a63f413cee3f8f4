"""The screens of the search over all sessions, and of the checkpoints (labels of all sessions)."""
