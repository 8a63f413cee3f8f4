"""What was said, laid out to be read: entries, contexts, comparisons and previews as parts of a document."""
