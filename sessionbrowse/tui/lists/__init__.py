"""The browser's first screen: the project list, the session list and the session preview."""
