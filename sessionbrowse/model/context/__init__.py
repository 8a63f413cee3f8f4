"""What the model would receive from any entry, and why each entry is in or out."""
