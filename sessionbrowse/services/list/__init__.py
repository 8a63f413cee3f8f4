"""Gather, find, order and open sessions."""
