"""Compute clean copies of sessions, repairs and cleanup lists: values and pure functions, no disk access."""
