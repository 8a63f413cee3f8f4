"""Find, read, index and safely change session files on disk."""
