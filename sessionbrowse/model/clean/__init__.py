"""A clean copy of a session: the lines that stay, as values and pure functions."""
