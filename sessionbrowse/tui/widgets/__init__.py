"""Widgets: lists, text panes, bars, input fields. They post messages; only the screens start changes and searches."""
