"""The parts of `SessionManager`: entries in memory, their context, the session file, lists of sessions."""
