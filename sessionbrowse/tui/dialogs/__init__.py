"""Windows over a screen: questions, help, command palette, progress."""
