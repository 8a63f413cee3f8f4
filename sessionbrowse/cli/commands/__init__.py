"""Commands, one file per group: each prints the answer of a service."""
