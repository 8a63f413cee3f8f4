"""The parts of a screen: each knows its rows and cursor, posts messages, calls no service."""
