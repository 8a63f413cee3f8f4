"""Search all sessions."""
