"""Read one session: documents for printing, and the comparison of two branches."""
