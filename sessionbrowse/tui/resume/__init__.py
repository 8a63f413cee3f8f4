"""Commands that start programs: the agent, and the user's own commands."""
