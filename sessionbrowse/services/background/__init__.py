"""The program beside the browser, and how the browser talks to it."""
