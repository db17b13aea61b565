"""Keeping the shape: quasi-identifiers are exchanged within clusters of at least k similar rows.

Start at `methods`: by centroids, by exchange, by dither; `exchange` is what they share, `gaussian` has the
dithers. `space` makes points of rows, `cluster` finds the clusters, `variety` merges those that are too
uniform, `draws` gives the random numbers, and `rosenblatt` leads from uniform numbers to values.
`reidentification` says how often rows are found. No hierarchy is needed here, and no search may be known.
"""
