"""What `SessionManager` is made of: entries in memory, their context, the file, the places and lists of sessions."""
