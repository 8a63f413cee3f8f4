"""Convert a session's entries into the rows of a tree view: order, indentation, filters, and the text of each row.

The rows are the same as in the tree of the session's agent program.
"""
