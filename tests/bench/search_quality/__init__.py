"""Quality of search: questions a person would ask, the stores they are asked in, and the rows of the benchmark."""
