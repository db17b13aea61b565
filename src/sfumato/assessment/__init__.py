"""Judge a release: what it keeps, what it gives away, and the map between the two.

It imports no method and takes any two files: whoever made them, however.
"""
