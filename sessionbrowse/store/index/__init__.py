"""The index: what is known of every session file, so that those that did not change are not opened. A cache only."""
