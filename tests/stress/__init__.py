"""Long runs: races and kill loops (`make stress`)."""
