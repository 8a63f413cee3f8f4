"""Read session files: bytes, lines, tails, archives, blobs."""
