"""Tokens and costs of sessions: the paid requests to models that entries record, and their exact sums.

A fork copies entries, so copies of a request are recognised and count only once.
"""
