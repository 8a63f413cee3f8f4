"""The screen of one session: its tree and the entry beside it."""
