"""Reconstruction: individual-level conclusions from published aggregates, at any size.

Start at `ludia` or `cudia`; `baselines` is what they have to beat. `aggregate` is what was published,
`groups` matches it with the people, `moments` are what is known of them as sums (of the design matrix that
the room `features` makes), `problem` what the linear methods solve (`factor`, `multilevel`), `mixture` how
CUDIA fits. `fitted_model` writes values back, `uncertainty` (with `components`) says how far they may be off,
`uses` what they are for. It draws no noise and promises no privacy.
"""
