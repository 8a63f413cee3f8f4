"""What a session is: entries by id, parents, leaf, labels, name and problems."""
