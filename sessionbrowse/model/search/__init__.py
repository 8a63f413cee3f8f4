"""Search: grammar, words, patterns, and how a text matches."""
