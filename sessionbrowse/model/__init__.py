"""What a session is: pure values and functions over decoded entries."""
