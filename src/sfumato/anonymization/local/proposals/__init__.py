"""New clusterings of many pools at once, for criteria that are asked outside the loop."""
