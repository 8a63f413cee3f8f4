"""Carry the entries of a session from one agent's format to another's, and list what gets lost (pi, omp, atomic)."""
