"""List, find, sort and open sessions."""
