"""The screens: each decides what its widgets show and what a command does there."""
