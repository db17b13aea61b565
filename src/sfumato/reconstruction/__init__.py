"""Reconstruction: individual-level conclusions from published aggregates, at any size."""
