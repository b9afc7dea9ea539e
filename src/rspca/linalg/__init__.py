"""Linear algebra without data formats: vectors, leading eigenpairs, explained variance."""
