"""LUGS: rows drawn by a Gibbs sampler whose laws, found by hashing, are lifted to an entropy of log l.

Start at `method`; `tables` is what it learns, `parallel` the same by parts (PLUGS), `executors` PLUGS on
Spark.
"""
