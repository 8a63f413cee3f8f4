"""The format: lines of bytes to entries, messages and back. Reads no disk and no clock."""
