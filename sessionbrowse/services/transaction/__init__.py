"""Code that all changes of sessions share: the lock, the journal, recovery after a crash, changes of many sessions."""
