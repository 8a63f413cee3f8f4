"""The grammar of searches, and matching texts with words and patterns."""
