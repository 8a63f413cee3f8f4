"""The verbs a user knows: one function each, no interface."""
