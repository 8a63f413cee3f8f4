"""The parts that all changes share: the lock, the journal, recovery after a crash, changes of many sessions."""
