"""Questions about a whole data set: how many features (k_path), which method (compare)."""
