"""The cost of sessions: requests counted once over all files, in rows and as documents."""
