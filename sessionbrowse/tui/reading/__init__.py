"""Documents to read: entries, contexts, comparisons and previews as parts for the text view."""
