"""Imputation: columns drawn from models of each given others, for new rows, chosen cells or gaps.

Methods: `multiple` (new rows), `partial` (chosen cells of people's rows), `missing_values` (gaps), `pmi`
(mixed with the even law). Shared: `variables` (columns as models see them), `engines` and `trees` (what
can be learnt), `chain` (one column given others), `rules` (constraints, survey weights), `draws`,
`promises`.
"""
