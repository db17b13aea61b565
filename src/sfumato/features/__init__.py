"""Features: the one way from a column to codes, numbers or a design matrix, and back.

From cells to numbers (NaN where missing, a time as days or microseconds) and from numbers to cells:
`numbers`. From columns of a table to X, a constant, numbers, and a 0/1 column a level: `design`. From columns
of several tables to the same codes for the same values, their joint cells and 0/1 columns: `alignment`. From
columns with a public domain to codes on public grids, and to the features that a model publishes: `grid`.
From a row of plain values to the codes of a published model: `inputs`. `thresholds` cut a range, `columns`
says which columns say something of a person.

Codes of one column, and their way back to values, are the codebook's (`counts`). It draws nothing, and knows
no model and no promise.
"""
