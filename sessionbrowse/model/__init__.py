"""The model of a session: pure values and functions over decoded entries."""
