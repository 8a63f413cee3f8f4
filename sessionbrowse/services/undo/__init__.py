"""Take back recorded changes."""
