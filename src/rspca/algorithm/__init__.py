"""The algorithm: one component, the loop over components, and each step as a pure function."""
