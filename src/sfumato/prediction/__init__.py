"""Prediction: risk scores learnt from persons, and what their answers give away."""
