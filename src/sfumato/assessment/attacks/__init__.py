"""Attacks on a release: each says what the intruder knows, and is judged against control and baseline."""
