"""Convert the entries of a session to another agent's format (pi, omp, atomic), and list what gets lost."""
