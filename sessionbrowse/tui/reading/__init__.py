"""Build the documents that the text view shows: entries, contexts, comparisons of branches, previews of sessions."""
