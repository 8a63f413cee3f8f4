"""The doctor, the clean-up of a store, and the commands that make clean copies: prune, shrink, export, redact."""
