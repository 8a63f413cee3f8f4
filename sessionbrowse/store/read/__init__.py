"""Read session files: bytes, lines, appended lines, archives, blobs (images outside the file)."""
