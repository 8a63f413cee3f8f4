"""Where sessions lie on disk: finding, reading and safely changing their files."""
