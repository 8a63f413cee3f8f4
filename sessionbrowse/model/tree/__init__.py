"""Entries → rows of a tree: order, shape, filters, and the text of a row in the words of each program."""
