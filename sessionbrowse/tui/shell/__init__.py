"""The base classes of the app and of all screens, and the protocols through which they know each other."""
