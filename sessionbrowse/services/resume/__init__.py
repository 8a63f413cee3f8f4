"""Resume a session in its agent: command, checks, launch."""
