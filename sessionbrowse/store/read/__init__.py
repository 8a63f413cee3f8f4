"""Read session files: bytes, lines, new lines at the end, archives, blobs (images outside the file)."""
