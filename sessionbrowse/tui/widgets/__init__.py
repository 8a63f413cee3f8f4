"""The widgets of a screen; a widget knows its rows and cursor, posts messages, and calls no service."""
