"""The screen of one session: its tree and the panes beside it."""
