"""Proven upper bounds on the variance that any k features can have."""
