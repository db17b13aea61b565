"""Re-clustering of neighbouring classes."""
