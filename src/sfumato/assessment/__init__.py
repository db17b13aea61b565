"""Judges a release: what it keeps, what it gives away. Imports no method and takes any two files."""
