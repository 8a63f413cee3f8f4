"""Tokens and costs of sessions: paid requests, the detection of copied requests, and exact sums."""
