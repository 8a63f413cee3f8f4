"""Changes to sessions, one module for each kind of change."""
