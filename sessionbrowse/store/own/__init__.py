"""Our own small files: state, pins, remembered views."""
