"""List, find, sort and open sessions in all searched directories."""
