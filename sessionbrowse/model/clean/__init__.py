"""Compute clean copies of sessions, repairs and cleanup lists. No module here reads or writes files."""
