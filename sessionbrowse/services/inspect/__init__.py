"""Inspect one session: JSON documents for printing, and the comparison of two branches."""
