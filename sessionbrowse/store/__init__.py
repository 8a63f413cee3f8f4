"""Sessions on disk: finding, reading, indexing and safely changing their files."""
