"""Change session files safely: the writer, whole files, locks, the journal, the trash."""
