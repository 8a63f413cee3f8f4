"""Find session files: roots, places, directory walks, projects."""
