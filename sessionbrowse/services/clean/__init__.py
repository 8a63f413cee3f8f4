"""Commands that make a clean copy of a session: prune, shrink, repair."""
