"""Read and write the small files in sessionbrowse's state directory: lock, pins, remembered views."""
