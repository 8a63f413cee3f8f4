"""The browser's first screen: the folder list, the session list and the session preview."""
