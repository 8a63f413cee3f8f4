"""The data behind the screens: background jobs, the source of sessions, the library, the search program."""
