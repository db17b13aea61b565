"""What analysts do with released data: new populations, other tasks, several synthetic files, new markets."""
