"""Bottom-up: small classes merge."""
