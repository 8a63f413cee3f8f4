"""Convert a session to another agent's format: as a new session, or as entries added to an earlier conversion."""
