"""The search of the session list: requests, found sessions with their hits, their rows and sentences."""
