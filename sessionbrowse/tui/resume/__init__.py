"""Commands that start other programs: the agent that resumes a session, and the user's custom commands."""
