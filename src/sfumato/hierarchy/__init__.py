"""How values become more general: hierarchies with levels, and the posets beneath them.

Start at `levels` (`Hierarchy`: one ancestor on each level) and `builders` (recipes for ages, codes,
places). `poset` is what all orders have in common; the others are `matrix` (any finite one), `ranges`,
`births`, `bits`, `codes`, `calendar` and `rows`; `nested` is over several columns; `node_numbers` lets a
search use any of them, `augmentation` writes them as columns. Files: `tables`, `dsg`, `folder`. It knows
values and their order, and no table.

>>> age = sf.hierarchy.Intervals(widths=(5, 10, 20), top=90).over(range(0, 105))
>>> age
Hierarchy(105 values, 105 > 19 > 10 > 6 > 1)
>>> [age.label(int(node)) for node in age.nodes[:, age.node(37)]]
['37', '35-39', '30-39', '20-39', '*']
"""

from sfumato.hierarchy.augmentation import Augmented
from sfumato.hierarchy.births import Born, DateOfBirth
from sfumato.hierarchy.bits import PowerSet
from sfumato.hierarchy.builders import (
    BritishPostcodes,
    Icd9,
    Icd10,
    Intervals,
    LevelTable,
    Prefixes,
    Recipe,
    ages,
    zip_codes,
)
from sfumato.hierarchy.calendar import Calendar
from sfumato.hierarchy.codes import Cell, SparseCodes
from sfumato.hierarchy.dsg import (
    BoundColumn,
    Columns,
    parse_columns,
    parse_posets,
    read_columns,
    read_posets,
    write_columns,
    write_posets,
)
from sfumato.hierarchy.folder import read_folder
from sfumato.hierarchy.levels import Hierarchy
from sfumato.hierarchy.matrix import Matrix
from sfumato.hierarchy.nesting import Chain, Nested
from sfumato.hierarchy.node_numbers import Numbered
from sfumato.hierarchy.poset import Finite, Poset, loss_of
from sfumato.hierarchy.ranges import Interval, Range
from sfumato.hierarchy.rows import PassThrough, Product, Suppression
from sfumato.hierarchy.tables import parse_levels, read_levels, write_levels

__all__ = [
    "Augmented",
    "Born",
    "BoundColumn",
    "BritishPostcodes",
    "Calendar",
    "Cell",
    "Chain",
    "Columns",
    "DateOfBirth",
    "Finite",
    "Hierarchy",
    "Icd9",
    "Icd10",
    "Interval",
    "Intervals",
    "LevelTable",
    "Matrix",
    "Nested",
    "Numbered",
    "PassThrough",
    "Poset",
    "PowerSet",
    "Prefixes",
    "Product",
    "Range",
    "Recipe",
    "SparseCodes",
    "Suppression",
    "ages",
    "loss_of",
    "parse_columns",
    "parse_levels",
    "parse_posets",
    "read_columns",
    "read_folder",
    "read_levels",
    "read_posets",
    "write_columns",
    "write_levels",
    "write_posets",
    "zip_codes",
]
