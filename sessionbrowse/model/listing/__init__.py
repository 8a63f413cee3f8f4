"""The data and rules of session lists: summaries, families, status, pi's session picker, search in titles."""
