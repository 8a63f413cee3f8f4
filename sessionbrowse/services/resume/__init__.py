"""Resume a session in its agent: build the command, check it, launch it."""
