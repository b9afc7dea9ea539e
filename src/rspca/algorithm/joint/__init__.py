"""Several components as one problem: free, under a constraint, or on one shared support."""
