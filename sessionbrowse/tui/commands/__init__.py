"""The table of commands, its keys, and the reasons why a command cannot run."""
