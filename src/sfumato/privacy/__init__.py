"""Privacy: what is promised, the noise that keeps the promise, and what has been spent."""
