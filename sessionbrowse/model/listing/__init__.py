"""What a list knows of a session without holding it: summaries, families, ages, the picker of pi."""
