"""The commands, one module per group of commands; each command calls a service and prints the result."""
