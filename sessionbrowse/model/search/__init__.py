"""Parse search queries, match texts with words and patterns, and compute relevance; no disk access."""
