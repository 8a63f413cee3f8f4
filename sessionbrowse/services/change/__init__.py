"""One function for each change of a session."""
