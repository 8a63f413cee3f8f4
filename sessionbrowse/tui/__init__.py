"""The terminal interface. Nothing outside this package imports textual."""
