"""Publishing tables whose people hide among others: searches for the least general one that does it."""
