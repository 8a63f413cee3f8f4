"""The first screen: projects, sessions and preview."""
