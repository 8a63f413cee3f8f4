"""Inspect one session: its contents, tree, context and labels as JSON documents, and comparison of two branches."""
