"""Read and write the small files in sessionbrowse's state directory: lock, pinned sessions, state of the screens."""
