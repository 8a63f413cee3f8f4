"""The table of commands, the keys that run them, and the reasons why a command is unavailable."""
