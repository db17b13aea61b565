"""LUGS: rows drawn by a Gibbs sampler whose laws, found by hashing, are lifted to an entropy of log l."""
