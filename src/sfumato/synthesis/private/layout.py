"""How a model is laid out in flat arrays: what the kernels read, without the compiler."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.uint16]
Bools = NDArray[np.bool_]
MAX_WIDTH = 3  # columns of a block
SLACK = 4  # numbers beyond the end of weights: four are read at once


class GraphLayout(NamedTuple):
    """Which columns hang together, in flat arrays. E directed edges: each pair once from either side.

    sizes: (d,) levels; own: (d + 1,) where a column's own weights begin.
    edges: (d + 1,) a column's edges are edges[j]:edges[j + 1], from outside[j] on those within its block;
    other: (E,) the column at the far end;
    rows: (E,) where the edge's weights begin, (levels of other, levels of j), so that the far end's code
    picks one contiguous row; table, step, far: (E,) where the pair's table begins, and by how much one code
    of j and one of the other move in it.
    blocks: (B, 3) columns drawn together, widths: (B,) how many; inner: (B + 1,) where the block's own
    weights begin. zeros: (B + 1,) the structural zeros that a block meets are met[zeros[b]:zeros[b + 1]];
    zero_columns: (Z, c) the columns of each, -1 beyond; zero_masks: (Z, c) where their masks begin.
    """

    sizes: Ints
    own: Ints
    edges: Ints
    outside: Ints
    other: Ints
    rows: Ints
    table: Ints
    step: Ints
    far: Ints
    blocks: Ints
    widths: Ints
    inner: Ints
    zeros: Ints
    met: Ints
    zero_columns: Ints
    zero_masks: Ints
    masks: Bools


class PotentialWeights(NamedTuple):
    """exp of the potentials, laid out as the graph says, each with `SLACK` numbers more at its end."""

    own: Floats
    edges: Floats
    inner: Floats


class Targets(NamedTuple):
    """Cells of pairs and of single columns, (cells, 2): count less what is wanted, cost of a miss."""

    pairs: Floats
    own: Floats


class TripleLayout(NamedTuple):
    """Tables of three columns, in flat arrays. T triples; 3 T places, each triple once from each column.

    columns: (T, 3) rising; starts: (T + 1,) where each table begins; steps: (T, 2) by how much one code of
    the first and one of the second column move in it.
    of: (d + 1,) a column's places are of[j]:of[j + 1]; begin: where the table begins; step: by how much a
    code of the column moves in it; first, second: the other columns, first_step, second_step: likewise.
    """

    columns: Ints
    starts: Ints
    steps: Ints
    of: Ints
    begin: Ints
    step: Ints
    first: Ints
    second: Ints
    first_step: Ints
    second_step: Ints
