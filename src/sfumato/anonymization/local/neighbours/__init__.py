"""Finding near boxes."""
