"""Clustering a few rows into classes."""
