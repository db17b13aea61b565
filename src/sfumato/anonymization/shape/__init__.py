"""Keeping the shape: k-anonymity by exchanging quasi-identifiers within clusters of k rows."""
