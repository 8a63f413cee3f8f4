"""Differences between operating systems: open files, locks, processes, and the trash."""
