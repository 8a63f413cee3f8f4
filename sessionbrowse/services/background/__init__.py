"""The background programs of the browser, and the messages that the browser exchanges with them."""
