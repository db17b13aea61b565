"""Sfumato: publish and use person-level health data without giving the persons away."""
