"""The base classes of the app and of all screens, and the protocol of the app that screens use."""
