"""The base classes of `SessionManager`, and its helpers for session files, contexts and lists of sessions."""
