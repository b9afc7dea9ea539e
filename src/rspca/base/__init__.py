"""Ground of the package: checks, files, memory, threads and shared types; knows nothing of sparse PCA."""
