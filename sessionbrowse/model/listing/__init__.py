"""The model of lists of sessions: summaries, families, age groups, pi's picker, search in titles."""
