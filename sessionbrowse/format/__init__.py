"""What the bytes mean: lines, entries, messages. Knows no disk and no clock."""
