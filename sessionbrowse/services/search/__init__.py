"""Search the entries, names and labels of all sessions, and rank the sessions found."""
