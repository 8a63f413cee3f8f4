"""Build documents for the text view: entries, contexts, comparisons and previews."""
