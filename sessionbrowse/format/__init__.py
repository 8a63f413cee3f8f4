"""The file format: decode lines of bytes into entries and messages, and encode them. No disk access, no clock."""
