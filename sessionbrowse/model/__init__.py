"""The model of sessions: values and pure functions over decoded entries, without disk access."""
