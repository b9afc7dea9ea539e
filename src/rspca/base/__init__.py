"""Checks, files, memory, threads and shared types: the lowest layer, without any sparse PCA."""
