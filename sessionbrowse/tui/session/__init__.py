"""The screen of one session: the tree of entries, and a pane with the entry under the cursor."""
