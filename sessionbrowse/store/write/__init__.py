"""Change session files safely: append, replace, move and trash files, with locks and the journal of changes."""
