"""The cost of sessions: model requests counted once over all files, as rows and as JSON documents."""
