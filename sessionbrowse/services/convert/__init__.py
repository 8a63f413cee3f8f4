"""Convert a session to the format of another agent, as a new session or as new entries of one made before."""
