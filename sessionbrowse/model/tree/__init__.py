"""Turn entries into rows of a tree: order, shape, filters, and the text of a row as each program writes it."""
