"""The file format: decode lines of bytes into entries and messages, and encode them. Reads no disk and no clock."""
