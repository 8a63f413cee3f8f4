"""Find damaged sessions (doctor) and sessions to delete (clean-up); make copies: prune, shrink, export, redact."""
