"""Find session files: the directories to scan (places and roots), the scan itself, and moved projects."""
