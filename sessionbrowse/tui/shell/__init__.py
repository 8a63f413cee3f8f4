"""The app, its data sources and background jobs, and the base class of all screens."""
