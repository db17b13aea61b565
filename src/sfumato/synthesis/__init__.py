"""Synthesis: new rows that resemble the old ones, with a guarantee that says the whole truth."""
