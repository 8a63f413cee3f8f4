"""The model of one session: its entries, parents, leaf, labels, name and problems."""
