"""Synthesis: new rows that resemble the old ones, with a guarantee that says the whole truth.

Start at `synthesize`: it fits a method and draws; `payment` and `debits` are for a ledger. Methods: `pegs`
(Gibbs sampling from counts with a prior: parents, blocks, perturbation, laws, sampler, in that order),
`private` (one promise for the whole data set), `lugs` (hashed neighbours), `imputation` (models of
columns, PMI among them), `baselines` (every column alone, all columns at once). Shared by all: `domain`
(columns as codes and back), `constraints` (what cannot be), `bin_values`. It takes counts from a table and
gives releases back. It knows no other method room and nothing that judges it.
"""
