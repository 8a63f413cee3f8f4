"""What all changes share: one at a time, noted in the journal, recovered after a crash."""
