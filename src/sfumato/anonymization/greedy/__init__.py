"""Classes that grow row by row, or are split at the rows farthest apart (Katirai 2006).

Start at `search` (Greedy and Beam) or `partition`; `guidance` is Greedy led by a model. `flat` holds the
hierarchies as `_kernels` read them, `check` asks the criterion, `closure` makes sets into disjoint classes.
`posets` does the same without kernels on any order, with `bounds` for the least upper bounds; it may not
know the methods, which tell it what to do. Nothing here may know the other searches.
"""
