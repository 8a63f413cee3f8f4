"""Data for the screens: background jobs, access to sessions on disk, cached summaries, the search client."""
