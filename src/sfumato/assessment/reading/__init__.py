"""Any two files on one scale, whoever made them: opened, understood, aligned.

Start with `files` (a file, a frame or a release as a table) and `alignment` (a `Pair`: common levels for
both, generalized values spread over what they stand for). Beneath them: `notation` reads '[20, 30)', '130**'
and '*'; `scales`, `bins` and `lines` make the scale of one column; `name_parts` cuts names of which there are
very many; `frames` and `same_values` give rows to models and comparisons.

It judges nothing: it knows no measure, no attack and no threshold.
"""
