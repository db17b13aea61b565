"""PeGS where laws are restricted or tables are hashed: slower, and with no other law."""
