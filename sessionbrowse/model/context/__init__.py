"""The context that the model would receive at any entry, with a reason for each entry that is left out."""
