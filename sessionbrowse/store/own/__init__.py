"""The small files of sessionbrowse itself: state, pins, remembered views."""
